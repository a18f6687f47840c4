import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// What rows of an index tell of the conditions of one alternative, beyond the ranges that are read.
struct RowTest: Hashable, Sendable {
  /// The values that a field may have.
  struct Field: Hashable, Sendable {
    /// The field's place in the index.
    let place: Int
    /// The values as rows hold them, in ranges that ascend.
    let ranges: [ValueRange]
    /// The same as the keys between which they lie.
    private let keys: [RowRange]

    init(_ place: Int, _ ranges: [ValueRange]) {
      self.place = place
      self.ranges = ranges
      keys = ranges.map { RowRange(low: $0.low.key, high: $0.high.key) }
    }

    /// Whether a value is allowed.
    fileprivate func allows(_ value: UnsafeRawBufferPointer) -> Bool {
      keys.contains { range in
        range.low.withUnsafeBytes { compareBytes($0, value) <= 0 }
          && range.high.withUnsafeBytes { compareBytes(value, $0) < 0 }
      }
    }

    /// The first range after a value that is not allowed, or the last one before it.
    fileprivate func neighbour(_ value: Bytes, isReversed: Bool) -> ValueRange? {
      let place =
        isReversed
        ? keys.lastIndex { !bytesPrecede(value, $0.high) }
        : keys.firstIndex { bytesPrecede(value, $0.low) }
      return place.map { ranges[$0] }
    }
  }

  /// The fields behind those that the ranges of the scan bound, the first one first.
  let fields: [Field]
  /// The conditions on `__name__`.
  let names: [FieldFilter]

  /// Whether all rows pass.
  var isEmpty: Bool { fields.isEmpty && names.isEmpty }

  /// The first field whose value in a row is not allowed; nil when there is none.
  ///
  /// A value that the row holds cut is not judged.
  func refusing(_ key: Bytes, _ layout: DocumentIndexRows.Layout) -> Field? {
    key.withUnsafeBytes { bytes in
      fields.first { field in
        guard let value = layout.value(field.place) else { return false }
        return !field.allows(UnsafeRawBufferPointer(rebasing: bytes[value]))
      }
    }
  }

  /// The key up to which all rows behind a refused one, in the direction of the walk, are refused too.
  static func next(
    behind key: Bytes, _ layout: DocumentIndexRows.Layout, refusedBy field: Field, isReversed: Bool
  ) -> Bytes? {
    guard let value = layout.value(field.place) else { return nil }
    let before = Bytes(key[..<value.lowerBound])
    guard let range = field.neighbour(Bytes(key[value]), isReversed: isReversed) else {
      return isReversed ? before : StoreKey.end(of: before)
    }
    let bound = isReversed ? range.high : range.low
    let edge = RowBound(bytes: before + bound.bytes, isAfter: bound.isAfter)
    return isReversed ? edge.high(layout.start) : edge.low(layout.start)
  }

  /// Whether a document's name is allowed.
  func allows(_ path: DocumentPath) -> Bool { names.allSatisfy { $0.matches(path) } }
}

extension DocumentIndexRows.Layout {
  /// Where the whole value of a field is; nil when the row does not hold it.
  fileprivate func value(_ place: Int) -> Range<Int>? {
    guard place < fieldEnds.count else { return nil }
    return (place == 0 ? start : fieldEnds[place - 1])..<fieldEnds[place]
  }
}

/// Tests the rows of a walk, and finds rows that need not be visited.
struct RowSieve {
  /// A jump costs an engine about as much as so many steps.
  private static let steps = 8

  private let tests: [RowTest]
  private let isReversed: Bool
  /// Rows before this key, in the direction of the walk, are refused.
  private var edge: Bytes?
  /// How many such rows were visited.
  private var steps = 0

  init(_ tests: [RowTest], isReversed: Bool) {
    self.tests = tests
    self.isReversed = isReversed
  }

  /// How the walk goes on from a row that is known to be refused; nil when it must be tested.
  mutating func step(_ key: RawSpan) -> Step? {
    guard let edge else { return nil }
    let order = key.compare(edge)
    guard isReversed ? order > 0 : order < 0 else {
      self.edge = nil
      return nil
    }
    steps += 1
    return steps < Self.steps ? .next : .jump(edge)
  }

  /// Whether the values of a row pass.
  mutating func passes(_ key: Bytes, _ layout: DocumentIndexRows.Layout) -> Bool {
    guard !tests.isEmpty else { return true }
    var refusing: [RowTest.Field] = []
    for test in tests {
      guard let field = test.refusing(key, layout) else { return true }
      refusing.append(field)
    }
    steps = 0
    // Each alternative may go on at another row; the first of these counts.
    for field in refusing {
      guard
        let next = RowTest.next(behind: key, layout, refusedBy: field, isReversed: isReversed)
      else {
        edge = nil
        return false
      }
      guard let first = edge else {
        edge = next
        continue
      }
      if bytesPrecede(next, first) != isReversed { edge = next }
    }
    return false
  }

  /// Whether a document that a passing row names must be read.
  func passes(_ path: DocumentPath, _ key: Bytes, _ layout: DocumentIndexRows.Layout) -> Bool {
    if tests.allSatisfy(\.names.isEmpty) { return true }
    return tests.contains { $0.refusing(key, layout) == nil && $0.allows(path) }
  }
}
