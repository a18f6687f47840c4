import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Applies the edits of one commit to a transaction.
struct CommitApplier {
  let tx: LeafTransaction
  /// Whether the tree's indexes may be kept: their keys show values.
  let maintainsIndexes: Bool
  private var infos: [TreeID: TreeInfo] = [:]
  private(set) var writes: [WriteID] = []
  private(set) var queries: [QueryID] = []
  private(set) var written: [(tree: TreeID, place: WrittenPlace)] = []
  /// Lanes in which writes ended.
  private var finished: Set<Lane> = []
  private var overlays: OverlayMaintainer
  private var versions = MatchesVersionCollector()

  init(_ tx: LeafTransaction, maintainsIndexes: Bool) {
    self.tx = tx
    self.maintainsIndexes = maintainsIndexes
    overlays = OverlayMaintainer(tx)
  }

  mutating func apply(_ edits: [StorageEdit]) throws(StoreError) {
    for edit in edits { try apply(edit) }
    try overlays.finish()
    for lane in finished { try queue(lane).forgetOldest() }
    try tx.flush()
    try versions.finish(tx)
  }

  private mutating func apply(_ edit: StorageEdit) throws(StoreError) {
    switch edit {
    case .overwrite(let tree, let path, let node):
      try info(tree).order.requireNodes()
      written.append((tree, .node(path)))
      try editor(tree).overwrite(path, node)
    case .merge(let tree, let path, let changes):
      try info(tree).order.requireNodes()
      written.append((tree, .node(path)))
      let editor = try editor(tree)
      for change in changes { try editor.overwrite(path.appending(change.path), change.node) }
    case .prune(let tree, let forest):
      try info(tree).order.requireNodes()
      let editor = try editor(tree)
      try editor.prune(forest, pinned: try Pins.all(tx, tree).map(\.path))
    case .saveQuery(let query):
      let id = try QueryEditor(tx, try info(query.tree)).save(query)
      queries.append(id)
      if query.lastUse == 0 {
        tx.effects.cover.saved.append(Activity.Name(tree: query.tree, query: id))
      }
    case .removeQuery(let tree, let id):
      let name = Activity.Name(tree: tree, query: id)
      tx.effects.cover.removed.insert(name)
      tx.effects.cover.saved.removeAll { $0 == name }
      uncover(tree, weight: Evictor.enoughUncovered)
      try QueryEditor(tx, try info(tree)).remove(id)
      versions.didRemove(id, in: tree)
    case .setTrackedKeys(let tree, let id, let keys):
      try info(tree).order.requireNodes()
      uncover(tree, weight: 1)
      try QueryEditor(tx, try info(tree)).setKeys(id, keys)
    case .updateTrackedKeys(let tree, let id, let added, let removed):
      try info(tree).order.requireNodes()
      uncover(tree, weight: 1)
      try QueryEditor(tx, try info(tree)).updateKeys(id, added: added, removed: removed)
    case .pin(let pin):
      try Pins.pin(tx, pin, try info(pin.tree).order)
    case .unpin(let pin):
      uncover(pin.tree, weight: Evictor.enoughUncovered)
      try Pins.unpin(tx, pin, try info(pin.tree).order)
    case .documents(let tree, let edits):
      try apply(edits, tree)
    case .setIndexes(let tree, let definitions):
      try setIndexes(tree, definitions.map { .children($0) })
    case .enqueue(let lane, let payload):
      try requireFit(payload, lane)
      let id = try queue(lane).enqueue(payload)
      writes.append(id)
      try overlays.didQueue(id, payload, in: lane)
    case .restore(let lane, let entry):
      try recordChange(lane, entry.id)
      try queue(lane).restore(entry)
      overlays.didChange(entry.payload, in: lane)
    case .replace(let lane, let id, let payload):
      try requireFit(payload, lane)
      try recordChange(lane, id)
      try queue(lane).replace(id, payload)
      try overlays.didReplace(id, payload, in: lane)
    case .setState(let lane, let id, let state):
      if case .rejected = state {
        try recordChange(lane, id, from: .unanswered)
      } else {
        try recordChange(lane, id, from: .rejected, queuesAgain: true)
      }
      try queue(lane).setState(id, state)
    case .finish(let lane, let id, let outcome):
      try recordChange(lane, id, ends: true)
      try queue(lane).finish(id, outcome)
      finished.insert(lane)
    case .purge(let lane):
      try queue(lane).purge()
      try overlays.didPurge(lane)
      if try info(lane.tree).order == .documents {
        uncover(lane.tree, weight: Evictor.enoughUncovered)
      }
    case .restoreQuery(let stored):
      try QueryEditor(tx, try info(stored.query.tree)).restore(stored)
    case .reserveQueryIDs(let tree, let id):
      try QueryEditor(tx, try info(tree)).reserveNumbers(through: id)
    case .restoreFinished(let lane, let end):
      try queue(lane).restore(end)
    case .reserveWriteIDs(let lane, let id):
      try queue(lane).reserveNumbers(through: id)
    case .raiseQueueFloor(let id):
      try QueueFloor.raise(tx, to: id.rawValue)
    case .report(let incident):
      if incident.tree.rawValue != 0 { _ = try info(incident.tree) }
      try Incidents.add(tx, incident)
    case .setMetadata(let tree, let name, let bytes):
      _ = try info(tree)
      try Metadata.write(tx, tree, name, bytes)
    case .wipe(let tree):
      tx.effects.cover.wiped.insert(tree)
      tx.effects.cover.saved.removeAll { $0.tree == tree }
      uncover(tree, weight: Evictor.enoughUncovered)
      try Trees.wipe(tx, tree)
      tx.dropChanges(tree)
      overlays.didWipe(tree)
      versions.didWipe(tree)
      infos[tree] = nil
      finished = finished.filter { $0.tree != tree }
    }
  }

  /// Applies edits of documents; those that follow one another and store some go to their runs together.
  private mutating func apply(_ edits: [DocumentEdit], _ tree: TreeID) throws(StoreError) {
    let editor = try DocumentEditor(tx, try info(tree))
    var at = 0
    while at < edits.count {
      var end = at
      while end < edits.count, case .put(let document) = edits[end] {
        written.append((tree, .document(document.path)))
        try overlays.willChangeBase(document.path, in: tree)
        end += 1
      }
      if at < end { try editor.put(edits[at..<end]) } else { try apply(edits[at], editor, tree) }
      at = max(end, at + 1)
    }
  }

  private mutating func apply(
    _ edit: DocumentEdit, _ editor: DocumentEditor, _ tree: TreeID
  ) throws(StoreError) {
    switch edit {
    case .put: break  // They are stored together.
    case .forget(let path):
      try overlays.willChangeBase(path, in: tree)
      try editor.forget(path)
    case .setMatches(let id, let paths):
      uncover(tree, weight: 1)
      try editor.setMatches(id, paths)
      versions.didRemoveMatches(id, in: tree)
    case .setIndexes(let indexes):
      try setIndexes(tree, indexes.map { .documents($0) })
    case .addIndexes(let indexes):
      let known = try IndexSet.read(tx, tree).indexes.map(\.definition)
      try setIndexes(tree, known + indexes.map { .documents($0) })
    case .updateMatches(let id, let added, let removed):
      uncover(tree, weight: 1)
      try editor.updateMatches(id, added, removed)
      if !removed.isEmpty { versions.didRemoveMatches(id, in: tree) }
    case .setMatchesVersion(let id, let version):
      try editor.checkVersion(id, version)
      versions.didSet(version, id, in: tree)
    }
  }

  /// Refuses a write of one model in a tree of the other.
  private mutating func requireFit(_ payload: WritePayload, _ lane: Lane) throws(StoreError) {
    if payload.kind == .documents { try info(lane.tree).requireDocuments() }
    if payload.kind == .tree { try info(lane.tree).order.requireNodes() }
  }

  /// Records, for the overlays of documents, that a write of a lane changes or ends.
  ///
  /// - Parameters:
  ///   - section: the section of the lane that it must be in; nil for any.
  ///   - ends: whether the write leaves the queue.
  ///   - queuesAgain: whether it waits from now on.
  private mutating func recordChange(
    _ lane: Lane, _ id: WriteID, from section: QueueReader.Section? = nil, ends: Bool = false,
    queuesAgain: Bool = false
  ) throws(StoreError) {
    guard try info(lane.tree).order == .documents, let found = try queue(lane).reader.find(id),
      section == nil || found.section == section
    else { return }
    if ends {
      try overlays.didFinish(id, found.entry.payload, in: lane)
    } else if queuesAgain {
      try overlays.didReplace(id, found.entry.payload, in: lane)
    } else {
      overlays.didChange(found.entry.payload, in: lane)
    }
    // Data that was covered only by this write may be evicted now.
    uncover(lane.tree, weight: 1)
  }

  private mutating func setIndexes(
    _ tree: TreeID, _ definitions: [DeclaredIndex]
  ) throws(StoreError) {
    let info = try info(tree)
    guard maintainsIndexes || definitions.isEmpty else {
      throw StoreError(
        .unsupported,
        "An encrypted store keeps no indexes, since the values of their keys would be readable: "
          + "query without them, or do not encrypt the store.")
    }
    guard definitions.allSatisfy({ $0.fits(info.order) }) else {
      throw StoreError(
        .invalid,
        info.order == .documents
          ? "The tree \"\(info.name)\" holds documents, not nodes: declare a DocumentIndex."
          : "The tree \"\(info.name)\" orders keys as UTF-8, and queries do not: it takes no indexes."
      )
    }
    var set = try IndexSet.read(tx, tree)
    guard try set.declare(definitions) else { return }
    // Earlier edits of this commit belong to the indexes that were declared before.
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
