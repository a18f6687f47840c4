internal import ConiferDocument
package import ConiferKeyValue
package import ConiferStorage
package import ConiferTree

/// A view of the model's state.
package final class ModelView: StorageView {
  /// What was found of documents so far: a comparison asks for each of them.
  struct Memory {
    var waiting: [Lane: [MutationBatch]] = [:]
    var shown: [Lane: [Document]] = [:]
  }

  let model: StorageModel
  var memory = Memory()

  /// A view of a model.
  package init(_ model: StorageModel) { self.model = model }

  package func trees() -> [TreeInfo] { model.trees.values.map(\.info).sorted { $0.id < $1.id } }

  package func node(
    _ tree: TreeID, _ path: Path, _ slice: NodeSlice
  ) throws(StoreError) -> Node {
    let tree = try model.tree(tree)
    try tree.requireNodes()
    return tree.root[path].cut(slice, tree.info.order)
  }

  package func childKeys(
    _ tree: TreeID, _ path: Path, after: Key?, limit: Int
  ) throws(StoreError) -> [Key] {
    let tree = try model.tree(tree)
    try tree.requireNodes()
    let keys = tree.root[path].children.map(\.key).sorted(by: tree.info.order.precedes)
    let rest = keys.filter { key in after.map { tree.info.order.precedes($0, key) } ?? true }
    return Array(rest.prefix(max(0, limit)))
  }

  package func trackedQuery(
    _ tree: TreeID, _ path: Path, _ parameters: String
  ) throws(StoreError) -> StoredQuery? {
    try queries(tree).first {
      $0.query.path == path && $0.query.parameters.sameBytes(parameters)
    }
  }

  package func trackedQuery(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> TrackedQuery? {
    try model.tree(tree).queries[id]
  }

  package func trackedQueries(
    _ tree: TreeID, at path: Path
  ) throws(StoreError) -> [StoredQuery] {
    try queries(tree).filter { $0.query.path == path }
  }

  package func trackedQueries(
    _ tree: TreeID, below path: Path
  ) throws(StoreError) -> [StoredQuery] {
    try queries(tree).filter { $0.query.path != path && path.contains($0.query.path) }
  }

  package func trackedQueries(
    _ tree: TreeID, after: QueryID?, limit: Int
  ) throws(StoreError) -> [StoredQuery] {
    Array(
      try queries(tree).filter { query in after.map { $0 < query.id } ?? true }
        .prefix(max(0, limit)))
  }

  package func trackedKeys(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> [Key] {
    let tree = try model.tree(tree)
    try tree.requireNodes()
    return (tree.keys[id] ?? []).sorted(by: tree.info.order.precedes)
  }

  package func pins(_ tree: TreeID) throws(StoreError) -> [Pin] {
    try model.tree(tree).pins.sorted { $0.path < $1.path }
  }

  package func lanes(_ tree: TreeID) throws(StoreError) -> [Lane] {
    try model.tree(tree).lanes.keys.map {
      Lane(tree: tree, identity: String(decoding: $0, as: UTF8.self))
    }
  }

  package func totals(_ lane: Lane) throws(StoreError) -> QueueTotals {
    let state = try model.lane(lane)
    let waiting = state.writes.filter { !$0.isRejected }
    return QueueTotals(
      pending: waiting.count, rejected: state.writes.count - waiting.count,
      bytes: state.writes.reduce(0) { $0 + $1.estimatedSize }, oldest: waiting.first?.id,
      newest: state.newest == 0 ? nil : WriteID(rawValue: state.newest))
  }

  package func entry(_ lane: Lane, _ id: WriteID) throws(StoreError) -> QueueEntry? {
    try model.lane(lane).writes.first { $0.id == id }
  }

  package func entries(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [QueueEntry] { try window(lane, after, limit, rejected: false) }

  package func rejectedEntries(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [QueueEntry] { try window(lane, after, limit, rejected: true) }

  package func pendingWrites(_ lane: Lane, touching path: Path) throws(StoreError) -> [WriteID] {
    try model.lane(lane).writes.filter { write in
      !write.isRejected
        && write.payload.touches.contains { $0.contains(path) || path.contains($0) }
    }.map(\.id)
  }

  package func finishedWrite(_ lane: Lane, _ id: WriteID) throws(StoreError) -> FinishedWrite? {
    try model.lane(lane).finished[id]
  }

  package func metadata(_ tree: TreeID, _ name: String) throws(StoreError) -> [UInt8]? {
    try model.tree(tree).metadata[Array(name.utf8)]
  }

  package func usage(_ tree: TreeID?) throws(StoreError) -> StorageUsage {
    var usage = StorageUsage()
    for tree in tree == nil ? Array(model.trees.values) : [try model.tree(tree ?? .none)] {
      usage.runs.stored += tree.root.isEmpty ? 0 : tree.root.estimatedSize
      usage.runs.raw = usage.runs.stored
      usage.leaves += tree.root.countOfRecords + tree.documents.known.count
      for lane in tree.lanes.values {
        usage.queue += 16 + lane.writes.reduce(0) { $0 + $1.estimatedSize }
      }
      usage.trackedQueries += tree.queries.count * 32
      usage.trackedQueries += tree.keys.values.reduce(0) { $0 + 8 * $1.count }
      usage.pins += tree.pins.count * 16
      usage.other += 16 + tree.metadata.values.reduce(0) { $0 + 8 + $1.count }
    }
    return usage
  }

  package func finishedWrites(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [FinishedWrite] {
    Array(
      try model.lane(lane).finished.values.sorted { $0.id < $1.id }
        .filter { end in after.map { $0 < end.id } ?? true }.prefix(max(0, limit)))
  }

  package func queueFloor() -> WriteID? {
    model.queueFloor == 0 ? nil : WriteID(rawValue: model.queueFloor)
  }

  package func lastQuery(_ tree: TreeID) throws(StoreError) -> QueryID? {
    let last = try model.tree(tree).lastQuery
    return last == 0 ? nil : QueryID(rawValue: last)
  }

  package func metadataNames(
    _ tree: TreeID, after: String?, limit: Int
  ) throws(StoreError) -> [String] {
    let names = try model.tree(tree).metadata.keys.sorted(by: bytesPrecede)
    let rest = names.filter { name in after.map { bytesPrecede(Array($0.utf8), name) } ?? true }
    return rest.prefix(max(0, limit)).map { String(decoding: $0, as: UTF8.self) }
  }

  package func indexes(_ tree: TreeID) throws(StoreError) -> [IndexStatus] {
    try model.tree(tree).indexes.map { IndexStatus(definition: $0, state: .ready) }
  }

  package func incidents(
    after position: IncidentPosition, limit: Int, where isWanted: (Incident) -> Bool
  ) -> IncidentWindow {
    let parts: [(WritableKeyPath<IncidentPosition.Newest, UInt64>, isWrite: Bool)] = [
      (\.other, false), (\.write, true),
    ]
    var (incidents, bytes, hasMore): ([Incident], Int, Bool) = ([], 0, false)
    var end = position.newest
    for tree in Set(model.incidents.map(\.tree)).sorted() {
      let reports = model.incidents.filter { $0.tree == tree }
      for (part, isWrite) in parts {
        let known = end[tree]?[keyPath: part] ?? 0
        let rest = reports.filter { ($0.kind == .writeSetAside) == isWrite }
          .dropFirst(Int(clamping: known))
        for incident in rest {
          guard incidents.count < max(1, limit), bytes < IncidentWindow.fullAt else {
            hasMore = true
            break
          }
          end[tree, default: .init()][keyPath: part] += 1
          guard isWanted(incident) else { continue }
          incidents.append(incident)
          bytes += incident.bytes.count
        }
      }
    }
    return IncidentWindow(
      incidents: incidents, end: IncidentPosition(end), hasMore: hasMore)
  }

  package func incidentPosition() -> IncidentPosition {
    IncidentPosition(
      model.incidents.reduce(into: [:]) { newest, incident in
        if incident.kind == .writeSetAside {
          newest[incident.tree, default: .init()].write += 1
        } else {
          newest[incident.tree, default: .init()].other += 1
        }
      })
  }

  private func queries(_ tree: TreeID) throws(StoreError) -> [StoredQuery] {
    try model.tree(tree).queries.map { StoredQuery(id: $0.key, query: $0.value) }
      .sorted { $0.id < $1.id }
  }

  private func window(
    _ lane: Lane, _ after: WriteID?, _ limit: Int, rejected: Bool
  ) throws(StoreError) -> [QueueEntry] {
    Array(
      try model.lane(lane).writes.filter { write in
        write.isRejected == rejected && after.map { $0 < write.id } ?? true
      }.prefix(max(0, limit)))
  }
}

extension TreeID {
  /// A number that no tree has.
  static let none = TreeID(rawValue: 0)
}

extension KeyOrder {
  /// Whether a key comes before another.
  func precedes(_ a: Key, _ b: Key) -> Bool {
    switch self {
    case .realtimeDatabase: a < b
    case .utf8, .documents: a.string.utf8.lexicographicallyPrecedes(b.string.utf8)
    }
  }
}

extension Node {
  /// The leaves and the priorities of interior nodes, as `StorageUsage.leaves` counts them.
  package var countOfRecords: Int {
    if isEmpty { return 0 }
    if isLeaf { return 1 }
    return children.reduce(priority == nil ? 0 : 1) { $0 + $1.node.countOfRecords }
  }

  /// The children that a slice asks for, under the node's own priority.
  package func cut(_ slice: NodeSlice, _ order: KeyOrder = .realtimeDatabase) -> Node {
    if isLeaf || slice == .all { return self }
    var kept = children.map { (key: $0.key, node: $0.node) }
    if order != .realtimeDatabase { kept.sort { order.precedes($0.key, $1.key) } }
    kept.removeAll { child in
      slice.lower.map { order.precedes(child.key, $0) } ?? false
        || slice.upper.map { order.precedes($0, child.key) } ?? false
    }
    if let limit = slice.limit {
      let most = max(0, limit)
      kept = slice.fromEnd ? kept.suffix(most) : Array(kept.prefix(most))
    }
    return Node(children: kept.map { ($0.key, $0.node) }, priority: priority)
  }
}

extension QueueEntry {
  /// About how many bytes it takes.
  var estimatedSize: Int {
    payload.touches.reduce(16 + payload.bytes.count) { $0 + 8 * $1.count }
  }
}
