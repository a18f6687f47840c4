/// A set of UTF-16 code units.
struct UnitSet: Hashable, Sendable {
  /// Ascending ranges with gaps between them.
  private(set) var ranges: [ClosedRange<UInt16>]
  /// The units below 128, a bit each.
  private let low: (UInt64, UInt64)

  init(_ ranges: [ClosedRange<UInt16>]) {
    var merged: [ClosedRange<UInt16>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, Int(range.lowerBound) <= Int(last.upperBound) + 1 {
        merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    var (a, b): (UInt64, UInt64) = (0, 0)
    for range in merged where range.lowerBound < 128 {
      for unit in range.lowerBound...min(range.upperBound, 127) {
        if unit < 64 { a |= 1 << UInt64(unit) } else { b |= 1 << UInt64(unit - 64) }
      }
    }
    self.ranges = merged
    low = (a, b)
  }

  init(_ unit: UInt16) { self.init([unit...unit]) }

  /// Every unit.
  static let any = UnitSet([0...0xFFFF])
  /// `\d`.
  static let digits = UnitSet([0x30...0x39])
  /// `\w`.
  static let word = UnitSet([0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
  /// `\s`: the white space of ASCII.
  static let space = UnitSet([0x09...0x0D, 0x20...0x20])

  /// The units that are not in the set.
  var inverted: UnitSet {
    var gaps: [ClosedRange<UInt16>] = []
    var next = 0
    for range in ranges {
      if next < Int(range.lowerBound) { gaps.append(UInt16(next)...(range.lowerBound - 1)) }
      next = Int(range.upperBound) + 1
    }
    if next <= 0xFFFF { gaps.append(UInt16(next)...0xFFFF) }
    return UnitSet(gaps)
  }

  func union(_ other: UnitSet) -> UnitSet { UnitSet(ranges + other.ranges) }

  func contains(_ unit: UInt16) -> Bool {
    if unit < 64 { return low.0 >> UInt64(unit) & 1 == 1 }
    if unit < 128 { return low.1 >> UInt64(unit - 64) & 1 == 1 }
    var (from, to) = (0, ranges.count)
    while from < to {
      let middle = (from + to) / 2
      if ranges[middle].upperBound < unit { from = middle + 1 } else { to = middle }
    }
    return from < ranges.count && ranges[from].contains(unit)
  }

  static func == (a: UnitSet, b: UnitSet) -> Bool { a.ranges == b.ranges }

  func hash(into hasher: inout Hasher) { hasher.combine(ranges) }
}

// MARK: Case

extension UnitSet {
  /// The set with the other case of each letter: units are equal when they have the same upper-case
  /// unit. ASCII letters have other cases only in ASCII.
  var ignoringCase: UnitSet {
    var more: [ClosedRange<UInt16>] = []
    for unit in UInt16(0x41)...0x5A where contains(unit) != contains(unit | 0x20) {
      more.append(unit...unit)
      more.append((unit | 0x20)...(unit | 0x20))
    }
    // A set of all units beyond ASCII already has their other cases.
    if let last = ranges.last, last.upperBound >= 128,
      last.lowerBound > 128 || last.upperBound < 0xFFFF
    {
      for group in UnitSet.caseGroups where group.contains(where: contains) {
        more.append(contentsOf: group.map { $0...$0 })
      }
    }
    return more.isEmpty ? self : UnitSet(ranges + more)
  }

  /// Groups of units beyond ASCII that share one upper case.
  private static let caseGroups: [[UInt16]] = {
    var groups: [UInt16: [UInt16]] = [:]
    for unit in UInt16(128)...0xFFFF {
      guard let scalar = Unicode.Scalar(unit) else { continue }
      let upper = scalar.properties.uppercaseMapping.utf16
      guard let first = upper.first, upper.count == 1, first >= 128 else { continue }
      groups[first, default: []].append(unit)
    }
    return groups.values.filter { $0.count > 1 }
  }()
}
