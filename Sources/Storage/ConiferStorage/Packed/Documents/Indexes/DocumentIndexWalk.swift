import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Walks rows of an index in ranges, a batch at a time.
struct DocumentIndexWalk {
  /// A document that a row names.
  struct Row {
    /// The row's key.
    let key: Bytes
    let entry: DocumentIndexRows.Entry

    /// Whether both rows are cut and have equal bytes, so that only the documents show their order.
    func isTied(_ other: Row) -> Bool {
      entry.isCut && other.entry.isCut
        && key[..<entry.valuesEnd] == other.key[..<other.entry.valuesEnd]
    }

    /// The same of a row whose documents were not decoded.
    fileprivate func isTied(_ other: Bytes, _ layout: DocumentIndexRows.Layout) -> Bool {
      entry.isCut && layout.isCut && key[..<entry.valuesEnd] == other[..<layout.valuesEnd]
    }
  }

  let rows: DocumentIndexRows
  let isReversed: Bool
  private let view: any OrderedView
  private let tests: [RowTest]
  /// The ranges that are left, in the order of the walk.
  private var ranges: ArraySlice<RowRange>
  /// The collection of the row that was read last.
  private var collection: DocumentIndexRows.KnownCollection?
  /// How many rows were read.
  private(set) var count = 0

  init(_ view: any OrderedView, _ rows: DocumentIndexRows, _ scan: DocumentPlan.Scan) {
    self.view = view
    self.rows = rows
    isReversed = scan.isReversed
    tests = scan.tests
    ranges = (scan.isReversed ? scan.ranges.reversed() : scan.ranges)[...]
  }

  /// The next rows: at least the given number, if there are as many. Tied rows come together.
  ///
  /// - Throws: `damaged`, naming a row.
  mutating func next(_ count: Int) throws(StoreError) -> [Row] {
    while let range = ranges.first {
      let found = try read(range, count)
      if !found.isEmpty { return found }
    }
    return []
  }

  /// Skips the rows before a name; all of them must have the same values.
  mutating func skip(to path: DocumentPath, from row: Row) {
    guard let range = ranges.first else { return }
    let key = Bytes(row.key[..<row.entry.valuesEnd])
    let name = rows.name(path).prefix(DocumentIndexRows.shortestName)
    let edge = key + name
    let rest =
      isReversed
      ? RowRange(low: range.low, high: StoreKey.end(of: edge) ?? range.high)
      : RowRange(low: edge, high: range.high)
    if let rest = range.intersection(rest) {
      ranges[ranges.startIndex] = rest
    } else {
      ranges.removeFirst()
    }
  }

  private mutating func read(_ range: RowRange, _ count: Int) throws(StoreError) -> [Row] {
    var found: [Row] = []
    var (named, visited) = (0, 0)
    /// The row at which the next batch begins.
    var rest: Bytes?
    var damaged: Bytes?
    var known = collection
    var layout = DocumentIndexRows.Layout()
    var sieve = RowSieve(tests, isReversed: isReversed)
    let (rows, isReversed) = (rows, isReversed)
    let origin: Origin = isReversed ? .atOrBefore(range.high) : .atOrAfter(range.low)
    try view.walk(Spaces.indexes, origin) { key, value in
      if isReversed, key.equals(range.high) { return .next }
      guard isReversed ? key.compare(range.low) >= 0 : key.compare(range.high) < 0 else {
        return .stop
      }
      if let step = sieve.step(key) {
        guard named < count else {
          rest = Bytes(key)
          return .stop
        }
        visited += 1
        return step
      }
      let key = Bytes(key)
      guard rows.read(key, &known, &layout) else {
        damaged = key
        return .stop
      }
      if named >= count, found.last?.isTied(key, layout) != true {
        rest = key
        return .stop
      }
      visited += 1
      guard let listed = value.withUnsafeBytes({ IndexRow.segments(key, $0) }) else {
        damaged = key
        return .stop
      }
      guard sieve.passes(key, layout) else { return .next }
      guard let entries = rows.entries(key, listed, layout) else {
        damaged = key
        return .stop
      }
      let items = entries.filter { sieve.passes($0.path, key, layout) }
        .map { Row(key: key, entry: $0) }
      found += isReversed ? items.reversed() : items
      if !items.isEmpty { named += 1 }
      return .next
    }
    if let damaged { throw Damage.error(Spaces.indexes, damaged) }
    collection = known
    self.count += visited
    guard let rest else {
      ranges.removeFirst()
      return found
    }
    ranges[ranges.startIndex] =
      isReversed
      ? RowRange(low: range.low, high: rest + [0]) : RowRange(low: rest, high: range.high)
    return found
  }
}
