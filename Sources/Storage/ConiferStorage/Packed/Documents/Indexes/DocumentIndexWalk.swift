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
  }

  let rows: DocumentIndexRows
  let isReversed: Bool
  private let view: any OrderedView
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
    var read = 0
    var last: Bytes?
    var damaged: Bytes?
    var isOver = true
    var known = collection
    let (rows, isReversed) = (rows, isReversed)
    let origin: Origin = isReversed ? .atOrBefore(range.high) : .atOrAfter(range.low)
    try view.walk(Spaces.indexes, origin) { key, value in
      if isReversed, key.equals(range.high) { return .next }
      guard isReversed ? key.compare(range.low) >= 0 : key.compare(range.high) < 0 else {
        return .stop
      }
      let key = Bytes(key)
      guard let listed = value.withUnsafeBytes({ IndexRow.segments(key, $0) }),
        let entries = rows.entries(key, listed, &known)
      else {
        damaged = key
        return .stop
      }
      let items = entries.map { Row(key: key, entry: $0) }
      if read >= count, let before = found.last, let first = items.first, !first.isTied(before) {
        isOver = false
        return .stop
      }
      found += isReversed ? items.reversed() : items
      read += 1
      last = key
      return .next
    }
    if let damaged { throw Damage.error(Spaces.indexes, damaged) }
    collection = known
    self.count += read
    guard !isOver, let last else {
      ranges.removeFirst()
      return found
    }
    ranges[ranges.startIndex] =
      isReversed
      ? RowRange(low: range.low, high: last) : RowRange(low: last + [0], high: range.high)
    return found
  }
}
