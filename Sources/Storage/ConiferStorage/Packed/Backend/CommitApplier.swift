import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Applies the edits of one commit to a transaction.
struct CommitApplier {
  let tx: LeafTransaction
  /// Whether the tree's indexes may be kept: their keys show values.
  let keepsIndexes: Bool
  private var infos: [TreeID: TreeInfo] = [:]
  private(set) var writes: [WriteID] = []
  private(set) var queries: [QueryID] = []
  private var written: [(tree: TreeID, path: Path)] = []
  /// Lanes in which writes ended.
  private var finished: Set<Lane> = []

  init(_ tx: LeafTransaction, keepsIndexes: Bool) {
    self.tx = tx
    self.keepsIndexes = keepsIndexes
  }

  mutating func apply(_ edits: [StorageEdit]) throws(StoreError) {
    for edit in edits { try apply(edit) }
    for lane in finished { try queue(lane).forgetOldest() }
    try tx.flush()
  }

  /// Notes in which of some trees this commit wrote where nothing covers.
  func findUncovered(in trees: Set<TreeID>) throws(StoreError) {
    for (tree, path) in written
    where trees.contains(tree) && !tx.notes.cover.uncovered.contains(tree) {
      guard let info = try Trees.info(tx, tree) else { continue }
      let key = PathKey.encode(path, info.order)
      guard let range = try Coverage(tx, info).next(key), compareBytes(range.low, key) <= 0,
        compareBytes(key + [PathKey.endMark], range.high) <= 0
      else {
        _ = tx.note { $0.cover.uncovered.insert(tree) }
        continue
      }
    }
  }

  private mutating func apply(_ edit: StorageEdit) throws(StoreError) {
    switch edit {
    case .overwrite(let tree, let path, let node):
      written.append((tree, path))
      try editor(tree).overwrite(path, node)
    case .merge(let tree, let path, let changes):
      written.append((tree, path))
      let editor = try editor(tree)
      for change in changes { try editor.overwrite(path.appending(change.path), change.node) }
    case .prune(let tree, let forest):
      let editor = try editor(tree)
      try editor.prune(forest, pinned: try Pins.all(tx, tree).map(\.path))
    case .saveQuery(let query):
      let id = try QueryEditor(tx, try info(query.tree)).save(query)
      queries.append(id)
      if query.lastUse == 0 {
        tx.note { $0.cover.saved.append(Activity.Name(tree: query.tree, query: id)) }
      }
    case .removeQuery(let tree, let id):
      let name = Activity.Name(tree: tree, query: id)
      _ = tx.note { $0.cover.removed.insert(name) }
      tx.note { notes in notes.cover.saved.removeAll { $0 == name } }
      uncover(tree, releasing: Evictor.enoughReleased)
      try QueryEditor(tx, try info(tree)).remove(id)
    case .setTrackedKeys(let tree, let id, let keys):
      uncover(tree, releasing: 1)
      try QueryEditor(tx, try info(tree)).setKeys(id, keys)
    case .updateTrackedKeys(let tree, let id, let added, let removed):
      uncover(tree, releasing: 1)
      try QueryEditor(tx, try info(tree)).updateKeys(id, added: added, removed: removed)
    case .pin(let pin):
      try Pins.pin(tx, pin, try info(pin.tree).order)
    case .unpin(let pin):
      uncover(pin.tree, releasing: Evictor.enoughReleased)
      try Pins.unpin(tx, pin, try info(pin.tree).order)
    case .setIndexes(let tree, let definitions):
      try setIndexes(tree, definitions)
    case .enqueue(let lane, let payload):
      writes.append(try queue(lane).enqueue(payload))
    case .restore(let lane, let entry):
      try queue(lane).restore(entry)
    case .replace(let lane, let id, let payload):
      try queue(lane).replace(id, payload)
    case .setState(let lane, let id, let state):
      try queue(lane).setState(id, state)
    case .finish(let lane, let id, let outcome):
      try queue(lane).finish(id, outcome)
      finished.insert(lane)
    case .purge(let lane):
      try queue(lane).purge()
    case .restoreQuery(let stored):
      try QueryEditor(tx, try info(stored.query.tree)).restore(stored)
    case .reserveQueries(let tree, let id):
      try QueryEditor(tx, try info(tree)).reserve(id)
    case .restoreFinished(let lane, let end):
      try queue(lane).restore(end)
    case .reserve(let lane, let id):
      try queue(lane).reserve(id)
    case .raiseQueueFloor(let id):
      try QueueFloor.raise(tx, to: id.rawValue)
    case .report(let incident):
      if incident.tree.rawValue != 0 { _ = try info(incident.tree) }
      try Incidents.add(tx, incident)
    case .setMetadata(let tree, let name, let bytes):
      _ = try info(tree)
      try Metadata.write(tx, tree, name, bytes)
    case .wipe(let tree):
      _ = tx.note { $0.cover.wiped.insert(tree) }
      tx.note { notes in notes.cover.saved.removeAll { $0.tree == tree } }
      uncover(tree, releasing: Evictor.enoughReleased)
      try Trees.wipe(tx, tree)
      tx.dropChanges(tree)
      infos[tree] = nil
      finished = finished.filter { $0.tree != tree }
    }
  }

  /// Notes that data of a tree may have lost what covered it.
  private func uncover(_ tree: TreeID, releasing amount: Int) {
    _ = tx.note { $0.cover.uncovered.insert(tree) }
    tx.note { $0.cover.released += amount }
  }

  private mutating func setIndexes(
    _ tree: TreeID, _ definitions: [IndexDefinition]
  ) throws(StoreError) {
    let info = try info(tree)
    guard keepsIndexes || definitions.isEmpty else {
      throw StoreError(
        .unsupported,
        "An encrypted store keeps no indexes, since the values of their keys would be readable: "
          + "query without them, or do not encrypt the store.")
    }
    guard info.order == .realtimeDatabase || definitions.isEmpty else {
      throw StoreError(
        .invalid,
        "The tree \"\(info.name)\" orders keys as UTF-8, and queries do not: it takes no indexes.")
    }
    var set = try IndexSet.read(tx, tree)
    guard try set.declare(definitions) else { return }
    // What was edited so far belongs to the indexes that were declared then.
    try tx.flush(tree)
    try set.write(tx, tree)
  }

  private mutating func info(_ tree: TreeID) throws(StoreError) -> TreeInfo {
    if let info = infos[tree] { return info }
    let info = try Trees.known(tx, tree)
    infos[tree] = info
    return info
  }

  private mutating func editor(_ tree: TreeID) throws(StoreError) -> TreeEditor {
    TreeEditor(runs: tx.editor(tree), order: try info(tree).order)
  }

  private mutating func queue(_ lane: Lane) throws(StoreError) -> QueueEditor {
    try QueueEditor(tx, lane, try info(lane.tree).order, tx.leaves.codec)
  }
}
