import ConiferTree

/// Parses a regular expression.
struct PatternParser {
  /// The most levels of groups.
  private static let deepest = 100
  /// The maximum count of a quantifier.
  private static let maxRepeats = 1000

  /// The units of the text with the offsets of their bytes.
  private var units: [(unit: UInt16, offset: Int)] = []
  private let length: Int
  private let ignoresCase: Bool
  private var at = 0
  private var depth = 0

  init(_ text: [UInt8], ignoresCase: Bool) {
    self.ignoresCase = ignoresCase
    length = text.count
    var offset = 0
    for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
      for unit in String(scalar).utf16 { units.append((unit, offset)) }
      offset += UTF8.width(scalar)
    }
  }

  /// Reads the whole text.
  mutating func parse() throws(PatternError) -> PatternNode {
    let node = try choice()
    guard at == units.count else { throw error("Unmatched ')' in the regular expression.") }
    return node
  }

  private func error(_ message: String, at index: Int? = nil) -> PatternError {
    let index = index ?? at
    return PatternError(
      message: message, offset: index < units.count ? units[index].offset : length)
  }

  private func peek(_ ahead: Int = 0) -> UInt16? {
    at + ahead < units.count ? units[at + ahead].unit : nil
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard peek() == UInt16(truncatingIfNeeded: character.value) else { return false }
    at += 1
    return true
  }

  private func isNext(_ character: Unicode.Scalar, ahead: Int = 0) -> Bool {
    peek(ahead) == UInt16(truncatingIfNeeded: character.value)
  }

  private func set(_ set: UnitSet) -> PatternNode { .set(ignoresCase ? set.ignoringCase : set) }

  // MARK: Structure

  private mutating func choice() throws(PatternError) -> PatternNode {
    depth += 1
    defer { depth -= 1 }
    if depth > Self.deepest {
      throw error("The regular expression has more than \(Self.deepest) levels of groups.")
    }
    var parts = [try sequence()]
    while take("|") { parts.append(try sequence()) }
    return parts.count == 1 ? parts[0] : .choice(parts)
  }

  private mutating func sequence() throws(PatternError) -> PatternNode {
    var parts: [PatternNode] = []
    while at < units.count, !isNext("|"), !isNext(")") {
      let start = at
      let part = try atom()
      parts.append(try quantified(part, from: start))
    }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  private mutating func atom() throws(PatternError) -> PatternNode {
    let start = at
    if take("^") { return .start }
    if take("$") { return .end }
    if take(".") { return .set(.any) }
    if take("[") { return set(try unitClass(from: start)) }
    if take("\\") { return set(try escape(from: start, inClass: false)) }
    if take("(") {
      if take("?"), !take(":") {
        throw error(
          "A group begins with '(' or '(?:'; look-around, names and flags are not supported.",
          at: start)
      }
      let inner = try choice()
      guard take(")") else { throw error("The group has no end.", at: start) }
      return inner
    }
    let isCounted = try counts() != nil
    if isCounted || isNext("*") || isNext("+") || isNext("?") {
      throw error("There is nothing to repeat before the quantifier.", at: start)
    }
    let unit = units[at].unit
    at += 1
    return set(UnitSet(unit))
  }

  private mutating func quantified(
    _ part: PatternNode, from start: Int
  ) throws(PatternError) -> PatternNode {
    let bounds: (least: Int, most: Int?)
    if take("*") {
      bounds = (0, nil)
    } else if take("+") {
      bounds = (1, nil)
    } else if take("?") {
      bounds = (0, 1)
    } else if let counts = try counts() {
      bounds = counts
    } else {
      return part
    }
    switch part {
    case .start, .end:
      throw error("There is nothing to repeat before the quantifier.", at: start)
    default: break
    }
    // Lazy forms find the same strings.
    _ = take("?")
    if isNext("*") || isNext("+") || isNext("?") {
      throw error("There is nothing to repeat before the quantifier.")
    }
    return .repetition(part, bounds.least, bounds.most)
  }

  /// `{m}`, `{m,}` or `{m,n}`; nil for other braces, which match themselves.
  private mutating func counts() throws(PatternError) -> (least: Int, most: Int?)? {
    let start = at
    guard take("{"), let least = number() else {
      at = start
      return nil
    }
    var most: Int? = least
    if take(",") { most = number() }
    guard take("}") else {
      at = start
      return nil
    }
    guard max(least, most ?? 0) <= Self.maxRepeats else {
      throw error("A quantifier counts to \(Self.maxRepeats) at most.", at: start)
    }
    if let most, most < least { throw error("The quantifier's numbers are reversed.", at: start) }
    return (least, most)
  }

  private mutating func number() -> Int? {
    var value: Int?
    while let unit = peek(), unit &- 0x30 < 10 {
      value = min((value ?? 0) * 10 + Int(unit - 0x30), Self.maxRepeats + 1)
      at += 1
    }
    return value
  }

  // MARK: Units

  /// An escape, after its backslash.
  private mutating func escape(
    from start: Int, inClass: Bool
  ) throws(PatternError) -> UnitSet {
    guard let unit = peek() else {
      throw error("The regular expression ends with a backslash.", at: start)
    }
    at += 1
    switch Unicode.Scalar(unit) ?? " " {
    case "d": return .digits
    case "D": return UnitSet.digits.inverted
    case "w": return .word
    case "W": return UnitSet.word.inverted
    case "s": return .space
    case "S": return UnitSet.space.inverted
    case "n": return UnitSet(0x0A)
    case "r": return UnitSet(0x0D)
    case "t": return UnitSet(0x09)
    case "f": return UnitSet(0x0C)
    case "v": return UnitSet(0x0B)
    case "x": return UnitSet(try hex(2, from: start))
    case "u": return UnitSet(try hex(4, from: start))
    case "1"..."9": throw error("Back references are not supported.", at: start)
    case "b" where !inClass, "B" where !inClass:
      throw error("Word boundaries are not supported.", at: start)
    case "a"..."z", "A"..."Z", "0": throw error("There is no such escape.", at: start)
    default: return UnitSet(unit)
    }
  }

  private mutating func hex(_ count: Int, from start: Int) throws(PatternError) -> UInt16 {
    var value: UInt16 = 0
    for _ in 0..<count {
      guard let unit = peek(), unit < 128,
        let digit = UInt8(truncatingIfNeeded: unit).hexDigit
      else { throw error("The escape needs \(count) hexadecimal digits.", at: start) }
      value = value << 4 | UInt16(digit)
      at += 1
    }
    return value
  }

  /// A class in brackets, after the opening one.
  private mutating func unitClass(from start: Int) throws(PatternError) -> UnitSet {
    let isNegated = take("^")
    var ranges: [ClosedRange<UInt16>] = []
    while !take("]") {
      guard at < units.count else { throw error("The class has no end.", at: start) }
      let (itemStart, low) = (at, try classItem())
      // A range is between two units; any other '-' matches itself.
      if isNext("-"), peek(1) != nil, !isNext("]", ahead: 1), let from = low.single {
        let dash = at
        at += 1
        let high = try classItem()
        if let to = high.single {
          guard from <= to else { throw error("The range is reversed.", at: itemStart) }
          ranges.append(from...to)
        } else {
          at = dash
          ranges.append(contentsOf: low.ranges)
        }
      } else {
        ranges.append(contentsOf: low.ranges)
      }
    }
    if ranges.isEmpty { throw error("The class is empty.", at: start) }
    let set = UnitSet(ranges)
    return isNegated ? (ignoresCase ? set.ignoringCase : set).inverted : set
  }

  private mutating func classItem() throws(PatternError) -> UnitSet {
    let start = at
    if take("\\") { return try escape(from: start, inClass: true) }
    let unit = units[at].unit
    at += 1
    return UnitSet(unit)
  }
}

extension UnitSet {
  /// The unit of a set of one.
  fileprivate var single: UInt16? {
    guard ranges.count == 1, let range = ranges.first, range.count == 1 else { return nil }
    return range.lowerBound
  }
}
