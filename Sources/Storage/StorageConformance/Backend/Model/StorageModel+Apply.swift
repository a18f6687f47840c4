package import ConiferKeyValue
package import ConiferStorage
internal import ConiferTree

extension StorageModel {
  /// Applies a commit whole or not at all.
  package mutating func commit(_ edits: [StorageEdit]) throws(StoreError) -> CommitReceipt {
    var copy = self
    var writes: [WriteID] = []
    var queries: [QueryID] = []
    for edit in edits { try copy.apply(edit, &writes, &queries) }
    try copy.requireSizes(after: edits, writes, rejectedBefore: rejectedWrites)
    copy.lastCommit += 1
    self = copy
    return CommitReceipt(commit: CommitID(rawValue: lastCommit), writes: writes, queries: queries)
  }

  /// Applies one edit; a thrown error may leave a part of it behind.
  package mutating func apply(
    _ edit: StorageEdit, _ writes: inout [WriteID], _ queries: inout [QueryID]
  ) throws(StoreError) {
    switch edit {
    case .overwrite(let id, let path, let node):
      try change(id) { (tree) throws(StoreError) in try tree.overwrite(path, node) }
    case .merge(let id, let path, let changes):
      try change(id) { (tree) throws(StoreError) in
        try tree.requireNodes()
        for change in changes { try tree.overwrite(path.appending(change.path), change.node) }
      }
    case .prune(let id, let forest):
      try change(id) { (tree) throws(StoreError) in
        try tree.requireNodes()
        tree.root = tree.root.pruned(forest, keeping: tree.pins)
      }
    case .saveQuery(let query):
      try change(query.tree) { queries.append($0.save(query)) }
    case .removeQuery(let id, let query):
      try change(id) { (tree) throws(StoreError) in
        try tree.needQuery(query)
        tree.forget(query)
      }
    case .setTrackedKeys(let id, let query, let keys):
      try change(id) { (tree) throws(StoreError) in
        try tree.requireNodes()
        try tree.needQuery(query)
        tree.keys[query] = Set(keys)
      }
    case .updateTrackedKeys(let id, let query, let added, let removed):
      try change(id) { (tree) throws(StoreError) in
        try tree.requireNodes()
        try tree.needQuery(query)
        tree.keys[query, default: []].formUnion(added)
        tree.keys[query, default: []].subtract(removed)
      }
    case .pin(let pin):
      try change(pin.tree) { if !$0.pins.contains(where: pin.isSame) { $0.pins.append(pin) } }
    case .unpin(let pin):
      try change(pin.tree) { $0.pins.removeAll(where: pin.isSame) }
    case .documents(let id, let edits):
      try change(id) { (tree) throws(StoreError) in
        try tree.requireDocuments()
        for edit in edits { try tree.apply(edit) }
      }
    case .setIndexes(let id, let definitions):
      try change(id) { (tree) throws(StoreError) in
        try tree.requireNodes()
        tree.indexes = []
        for definition in definitions where !tree.indexes.contains(definition) {
          tree.indexes.append(definition)
        }
      }
    case .setMetadata(let id, let name, let bytes):
      try change(id) { $0.metadata[Array(name.utf8)] = bytes }
    case .wipe(let id):
      _ = try tree(id)
      trees[id] = nil
    case .enqueue(let lane, let payload):
      try payload.check()
      try tree(lane.tree).requireFit(payload)
      let floor = queueFloor
      try change(lane) {
        $0.newest = max($0.newest, floor) + 1
        let id = WriteID(rawValue: $0.newest)
        writes.append(id)
        $0.put(QueueEntry(id: id, payload: payload))
      }
    case .restore(let lane, let write):
      try write.payload.check()
      try change(lane) {
        $0.newest = max($0.newest, write.id.rawValue)
        $0.finished[write.id] = nil
        $0.put(write)
      }
    case .restoreQuery(let stored):
      try change(stored.query.tree) { (tree) throws(StoreError) in
        let there = tree.find(stored.query)
        guard there == stored.id || there == nil && tree.queries[stored.id] == nil else {
          throw StoreError(.invalid, "The number or the query is taken.")
        }
        tree.queries[stored.id] = stored.query
        tree.lastQuery = max(tree.lastQuery, stored.id.rawValue)
      }
    case .reserveQueryIDs(let id, let query):
      try change(id) { $0.lastQuery = max($0.lastQuery, query.rawValue) }
    case .restoreFinished(let lane, let end):
      try change(lane) { (lane) throws(StoreError) in
        guard !lane.writes.contains(where: { $0.id == end.id }) else {
          throw StoreError(.invalid, "The write is not finished.")
        }
        lane.newest = max(lane.newest, end.id.rawValue)
        lane.finished[end.id] = end
      }
    case .reserveWriteIDs(let lane, let id):
      try change(lane) { $0.newest = max($0.newest, id.rawValue) }
    case .raiseQueueFloor(let id): queueFloor = max(queueFloor, id.rawValue)
    case .report(let incident):
      incidents.append(incident)
    case .replace(let lane, let id, let payload):
      try payload.check()
      try tree(lane.tree).requireFit(payload)
      try change(lane) { (lane) throws(StoreError) in
        var write = try lane.write(id)
        write.payload = payload
        write.state = .queued
        lane.put(write)
      }
    case .setState(let lane, let id, let state):
      try change(lane) { (lane) throws(StoreError) in
        var write = try lane.write(id)
        guard write.state.mayBecome(state) else {
          throw StoreError(.invalid, "\(state) does not follow \(write.state).")
        }
        write.state = state
        if state == .sent { write.attempts += 1 }
        lane.put(write)
      }
    case .finish(let lane, let id, let outcome):
      try change(lane) { (lane) throws(StoreError) in
        let write = try lane.write(id)
        lane.writes.removeAll { $0.id == id }
        lane.finished[id] = FinishedWrite(id: id, outcome: outcome, path: write.payload.path)
      }
    case .purge(let lane):
      try change(lane) {
        for write in $0.writes {
          $0.finished[write.id] = FinishedWrite(
            id: write.id, outcome: .discarded, path: write.payload.path)
        }
        $0.writes = []
      }
    }
  }

  private mutating func change(
    _ id: TreeID, _ body: (inout Tree) throws(StoreError) -> Void
  ) throws(StoreError) {
    var tree = try tree(id)
    trees[id] = nil
    defer { trees[id] = tree }
    try body(&tree)
  }

  private mutating func change(
    _ lane: Lane, _ body: (inout LaneState) throws(StoreError) -> Void
  ) throws(StoreError) {
    guard lane.identity.utf8.count <= Lane.longestIdentity, !lane.identity.utf8.contains(0) else {
      throw StoreError(.invalid, "An identity has at most 256 bytes, none of them zero.")
    }
    try change(lane.tree) { (tree) throws(StoreError) in
      try body(&tree.lanes[Array(lane.identity.utf8), default: LaneState()])
    }
  }
}

extension StorageModel.Tree {
  mutating func overwrite(_ path: Path, _ node: Node) throws(StoreError) {
    try requireNodes()
    if path.last?.isPriority == true, !node.isEmpty, node.leaf.flatMap({ Priority($0) }) == nil {
      throw StoreError(.invalid, "That is no priority.")
    }
    root = root.setting(path, to: node)
  }

  /// Removes a tracked query with what it holds.
  mutating func forget(_ query: QueryID) {
    queries[query] = nil
    keys[query] = nil
    documents.matches[query] = nil
  }

  func needQuery(_ id: QueryID) throws(StoreError) {
    guard queries[id] != nil else { throw StoreError(.invalid, "There is no such query.") }
  }

  /// The number of a query, nil when it is not known.
  func find(_ query: TrackedQuery) -> QueryID? {
    queries.first {
      $0.value.path == query.path && $0.value.parameters.sameBytes(query.parameters)
    }?.key
  }

  mutating func save(_ query: TrackedQuery) -> QueryID {
    let there = find(query)
    if there == nil { lastQuery += 1 }
    let id = there ?? QueryID(rawValue: lastQuery)
    queries[id] = query
    return id
  }
}

extension StorageModel.LaneState {
  func write(_ id: WriteID) throws(StoreError) -> QueueEntry {
    guard let write = writes.first(where: { $0.id == id }) else {
      throw StoreError(.invalid, "There is no such write.")
    }
    return write
  }

  mutating func put(_ write: QueueEntry) {
    if let last = writes.last, last.id < write.id { return writes.append(write) }
    writes.removeAll { $0.id == write.id }
    writes.append(write)
    writes.sort { $0.id < $1.id }
  }
}

extension WriteState {
  /// Whether a write may change from this state to another one. A rejected write has to be queued
  /// again first.
  ///
  /// A queued write may become one of unknown outcome, since a crash may come before the store
  /// records that it was sent.
  package func mayBecome(_ next: WriteState) -> Bool {
    if case .rejected = self { next == .queued } else { true }
  }
}

extension Pin {
  func isSame(_ other: Pin) -> Bool {
    tree == other.tree && path == other.path && parameters.sameBytes(other.parameters)
  }
}

extension Node {
  /// The node after a prune. The deepest marker at or above a leaf or a priority decides; no marker
  /// overrides a pin.
  func pruned(_ forest: PruneForest, keeping pins: [Pin]) -> Node {
    var markers = forest.markers.filter { marker in
      !pins.contains { $0.path.contains(marker.key) }
    }
    for pin in pins { markers[pin.path] = .keep }
    return pruned(at: .root, markers, .keep)
  }

  private func pruned(
    at path: Path, _ markers: [Path: PruneForest.Marker], _ above: PruneForest.Marker
  ) -> Node {
    let decision = markers[path] ?? above
    let deeper = markers.filter { path.contains($0.key) }
    if deeper.allSatisfy({ $0.value == decision }) { return decision == .keep ? self : .empty }
    if isLeaf { return decision == .keep ? self : .empty }
    return Node(
      children: children.map { child in
        (child.key, child.node.pruned(at: path.appending(child.key), deeper, decision))
      }, priority: decision == .keep ? priority : nil)
  }
}
