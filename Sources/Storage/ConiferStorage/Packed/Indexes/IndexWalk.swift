import ConiferKeyValue
import ConiferLeafStore
import ConiferQuery
import ConiferTree

/// Walks the rows of one node in an index in the order of a query, a batch at a time.
struct IndexWalk {
  /// A child that a row names.
  struct Item {
    /// The key of the row.
    let row: Bytes
    /// Where the values that the row has of the child stand in it.
    let values: Range<Int>
    /// The child's path key.
    let child: Bytes
    /// Whether the row determines the child's position: neither a value nor the child's segment is
    /// cut.
    let isWhole: Bool

    /// Lends the values.
    func withValues<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
      row.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[values])) }
    }
  }

  private let view: any OrderedView
  private let plan: IndexPlan
  private let node: Bytes
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
    self.node = node
    fromEnd = spec.limit?.side == .last
    let prefix = plan.prefix + node
    func edge(_ bound: QuerySpec.Bound) -> (value: Bytes, row: Bytes) {
      let value = prefix + plan.value(bound.value.map { .leaf($0) } ?? .null)
      var segment = Bytes()
      // Among cut values, the order of keys is not the query's order.
      if let key = bound.key, plan.valuesEnd(value, prefix.count)?.isCut == false {
        PathKey.append(key, .realtimeDatabase, to: &segment)
      }
      return (value, value + segment.prefix(IndexPlan.longestSegment))
    }
    // Rows exactly on a bound are kept; the caller, who knows the child, decides.
    self.prefix = prefix
    /// Whether the range excludes all rows with a bound's value, so that they can be skipped.
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

  /// The next children: at least the given number, if there are as many. Equal cut values come
  /// together.
  ///
  /// - Throws: `damaged`, naming a row.
  mutating func next(_ count: Int) throws(StoreError) -> [Item] {
    var items: [Item] = []
    var found = 0
    var last: Bytes?
    var damaged: Bytes?
    var isOver = false
    // The values of the last row, if they were cut.
    var group: Bytes?
    let (prefix, plan, node, low, high) = (prefix, plan, node, low, high)
    guard bytesPrecede(low, high) else { return [] }
    let fromEnd = fromEnd
    try view.walk(Spaces.indexes, fromEnd ? .atOrBefore(high) : .atOrAfter(low)) { key, value in
      if fromEnd, key.equals(high) { return .next }
      guard fromEnd ? key.compare(low) >= 0 : key.compare(high) < 0 else {
        isOver = true
        return .stop
      }
      if found >= count {
        guard let values = group, key.starts(with: values) else { return .stop }
      }
      let key = Bytes(key)
      last = key
      found += 1
      guard let (end, isCut) = plan.valuesEnd(key, prefix.count),
        let listed = value.withUnsafeBytes({ IndexRow.segments(key, $0) })
      else {
        damaged = key
        return .stop
      }
      group = isCut ? Bytes(key[..<end]) : nil
      let values = prefix.count..<end
      if listed.isEmpty {
        items.append(
          Item(row: key, values: values, child: node + key[end...], isWhole: !isCut))
      }
      for segment in listed {
        items.append(Item(row: key, values: values, child: node + segment, isWhole: false))
      }
      return .next
    }
    if let damaged { throw Damage.error(Spaces.indexes, damaged) }
    entries += found
    guard let last else {
      self.low = high
      return []
    }
    if isOver || found < count {
      self.low = high
    } else if fromEnd {
      self.high = last
    } else {
      self.low = last + [0]
    }
    return items
  }
}
