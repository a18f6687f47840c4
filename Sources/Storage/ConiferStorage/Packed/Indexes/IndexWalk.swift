import ConiferKeyValue
import ConiferQuery
import ConiferTree

/// Walks the rows of one node in an index in the order of a query, a batch at a time.
struct IndexWalk {
  /// A child that a row names.
  struct Item {
    /// The key of the row, for reports.
    let row: Bytes
    /// The values that the row has of the child.
    let values: Bytes
    /// The child's segment.
    let segment: Bytes
  }

  private let view: any OrderedView
  private let plan: IndexPlan
  /// What the node's rows begin with.
  private let prefix: Bytes
  private let fromEnd: Bool
  /// Rows in `low ..< high` are left.
  private var low: Bytes
  private var high: Bytes
  /// How many rows were read.
  private(set) var entries = 0

  init(
    _ view: any OrderedView, _ plan: IndexPlan, _ node: Bytes, _ spec: QuerySpec
  ) {
    self.view = view
    self.plan = plan
    fromEnd = spec.limit?.side == .last
    let prefix = plan.prefix + node
    func edge(_ bound: QuerySpec.Bound) -> (value: Bytes, row: Bytes) {
      let value = prefix + plan.value(bound.value.map { .leaf($0) } ?? .null)
      var segment = Bytes()
      // Among cut values the order of keys tells nothing.
      if let key = bound.key, plan.valuesEnd(value, prefix.count)?.isCut == false {
        PathKey.append(key, .realtimeDatabase, to: &segment)
      }
      return (value, value + segment.prefix(IndexPlan.longestSegment))
    }
    // What lies exactly on a bound is left to whoever knows the child.
    self.prefix = prefix
    /// Whether no row of a bound's value is in the range: however many there are, they are passed.
    func leavesOut(_ bound: QuerySpec.Bound, _ value: Bytes) -> Bool {
      !bound.inclusive && bound.key == nil
        && plan.valuesEnd(value, prefix.count)?.isCut == false
    }
    low = prefix
    if let start = spec.start {
      let (value, row) = edge(start)
      low = leavesOut(start, value) ? value + [PathKey.endMark] : row
    }
    high = prefix + [PathKey.endMark]
    if let end = spec.end {
      let (value, row) = edge(end)
      if leavesOut(end, value) {
        high = value
      } else {
        high = row.count > value.count ? row + [0] : value + [PathKey.endMark]
      }
    }
  }

  /// The next children, at least so many while there are; equal values that are cut come together.
  mutating func next(_ count: Int) throws(StoreError) -> [Item] {
    var rows: [(key: Bytes, value: Bytes)] = []
    var isOver = false
    // The values of the last row when they were cut, with all before them.
    var group: Bytes?
    let (prefix, plan, low, high) = (prefix, plan, low, high)
    guard bytesPrecede(low, high) else { return [] }
    let fromEnd = fromEnd
    try view.walk(Spaces.indexes, fromEnd ? .atOrBefore(high) : .atOrAfter(low)) { key, value in
      let key = Bytes(key)
      if fromEnd, key == high { return .next }
      guard fromEnd ? compareBytes(low, key) <= 0 : bytesPrecede(key, high) else {
        isOver = true
        return .stop
      }
      if rows.count >= count {
        guard let values = group, key.starts(with: values) else { return .stop }
      }
      group = nil
      if let (end, isCut) = plan.valuesEnd(key, prefix.count), isCut { group = Bytes(key[..<end]) }
      rows.append((key, Bytes(value)))
      return .next
    }
    entries += rows.count
    guard let last = rows.last else {
      self.low = high
      return []
    }
    if isOver || rows.count < count {
      self.low = high
    } else if fromEnd {
      self.high = last.key
    } else {
      self.low = last.key + [0]
    }
    var items: [Item] = []
    for (key, value) in rows { items += try self.items(key, value) }
    return items
  }

  private func items(_ key: Bytes, _ value: Bytes) throws(StoreError) -> [Item] {
    let listed = try IndexRow.segments(key, value)
    guard let (end, _) = plan.valuesEnd(key, prefix.count) else {
      throw Damage.error(Spaces.indexes, key)
    }
    let values = Bytes(key[prefix.count..<end])
    let segments = listed.isEmpty ? [Bytes(key[end...])] : listed
    return segments.map { Item(row: key, values: values, segment: $0) }
  }
}
