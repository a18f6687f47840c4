import ConiferKeyValue
import ConiferLeafStore
import ConiferQuery
import ConiferTree

/// Answers queries of one tree by the first of these plans that gives the same result as reading
/// the whole node: a window by key, an index that is built, the default order when no child has a
/// priority, the whole node. The costs of the plans are not compared.
struct QueryReader {
  let tree: TreeReader
  let meter = ReadMeter()

  init(_ runs: RunReader, _ order: KeyOrder) {
    tree = TreeReader(runs: runs, order: order, meter: meter)
  }

  func answer(_ path: Path, _ spec: QuerySpec) throws(StoreError) -> QueryAnswer {
    // Only a tree with the Realtime Database's order has the order of queries, and a priority has
    // no children.
    let isOrdered = tree.order == .realtimeDatabase && !path.keys.contains(where: \.isPriority)
    guard isOrdered, !spec.loadsAllData else { return try whole(path, spec) }
    let node = PathKey.encode(path, tree.order)
    if spec.index == .key { return try window(node, spec) }
    let plan = try IndexPlans.plans(tree.runs.view, tree.runs.tree).first {
      $0.definition.serves(spec.index) && $0.definition.covers(path)
    }
    if let plan, plan.stored.holds(node), node.count <= IndexPlan.longestNode {
      return try walk(plan, node, spec)
    }
    if spec.index == .priority, try !tree.hasChildPriorities(node) {
      return try window(node, spec)
    }
    var answer = try whole(path, spec)
    if node.count <= IndexPlan.longestNode {
      answer.explanation.building = plan?.definition
      if plan == nil { answer.explanation.hint = try? IndexDefinition(path, by: spec.index) }
    }
    return answer
  }

  /// Reads the runs that hold the range, from its beginning or from its end.
  private func window(_ node: Bytes, _ spec: QuerySpec) throws(StoreError) -> QueryAnswer {
    let window = KeyWindow(spec, below: node, tree.order)
    let found = try tree.children(
      node, window.low, window.high, limit: window.limit, fromEnd: window.fromEnd)
    return answer(.keys, Array(found.children))
  }

  private func whole(_ path: Path, _ spec: QuerySpec) throws(StoreError) -> QueryAnswer {
    let node = try tree.node(path, .all)
    var answer = answer(.node, spec.evaluate(node))
    answer.explanation.childrenRead = node.childCount
    return answer
  }

  /// Walks the rows of an index from the bound, and reads the children that they name.
  private func walk(
    _ plan: IndexPlan, _ node: Bytes, _ spec: QuerySpec
  ) throws(StoreError) -> QueryAnswer {
    let limit = spec.limit?.count ?? .max
    let fromEnd = spec.limit?.side == .last
    var walk = IndexWalk(tree.runs.view, plan, node, spec)
    var found: [Node.Child] = []
    while found.count < limit {
      let items = try walk.next(limit - found.count)
      if items.isEmpty { break }
      let batch = try children(items, plan, node, spec)
      found = fromEnd ? batch + found : found + batch
    }
    if found.count > limit { found = Array(fromEnd ? found.suffix(limit) : found.prefix(limit)) }
    var answer = answer(.index(plan.definition), found)
    answer.explanation.indexEntries = walk.entries
    return answer
  }

  /// The children that rows name and that are in the query's range, in its order.
  ///
  /// - Throws: `damaged`, naming a row, when its child does not match the row.
  private func children(
    _ items: [IndexWalk.Item], _ plan: IndexPlan, _ node: Bytes, _ spec: QuerySpec
  ) throws(StoreError) -> [Node.Child] {
    var found: [Found?] = Array(repeating: nil, count: items.count)
    // By key, so that no run is read twice.
    let order = items.indices.sorted { compareBytes(items[$0].child, items[$1].child) < 0 }
    for (index, child) in zip(order, try tree.children(order.map { items[$0].child })) {
      let item = items[index]
      let key = item.child.withUnsafeBytes { PathKey.key($0, node.count..<$0.count, tree.order) }
      guard let key, !child.isEmpty else { throw Damage.error(Spaces.indexes, item.row) }
      let value = spec.index.value(of: key, child)
      let stored = plan.value(IndexValue.Content(value))
      guard stored.withUnsafeBytes({ stored in item.withValues { compareBytes(stored, $0) } }) == 0
      else { throw Damage.error(Spaces.indexes, item.row) }
      if spec.contains(key, child) { found[index] = Found(value: value, child: (key, child)) }
    }
    let rows = spec.limit?.side == .last ? Array(items.indices.reversed()) : Array(items.indices)
    guard items.allSatisfy(\.isWhole) else {
      return sorted(rows.filter { found[$0] != nil }, items, found)
    }
    // Rows are in the order of values, then of keys.
    return rows.compactMap { found[$0]?.child }
  }

  private struct Found {
    let value: Node
    let child: Node.Child
  }

  /// Sorts children whose rows do not determine their order.
  private func sorted(
    _ rows: [Int], _ items: [IndexWalk.Item], _ found: [Found?]
  ) -> [Node.Child] {
    let order = rows.sorted { a, b in
      // Rows show different values in order, unless the values were cut.
      var order = items[a].withValues { a in items[b].withValues { compareBytes(a, $0) } }
      if order == 0, let x = found[a], let y = found[b] {
        order = Node.compareValues(x.value, y.value)
      }
      return order == 0 ? compareBytes(items[a].child, items[b].child) < 0 : order < 0
    }
    return order.compactMap { found[$0]?.child }
  }

  private func answer(_ plan: QueryExplanation.Plan, _ children: [Node.Child]) -> QueryAnswer {
    var explanation = QueryExplanation(plan)
    explanation.runsRead = meter.runs
    explanation.bytesDecoded = meter.bytes
    explanation.children = children.count
    return QueryAnswer(children: children, explanation: explanation)
  }
}
