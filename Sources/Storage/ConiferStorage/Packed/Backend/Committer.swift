import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Applies commits: those that wait together share one batch, and each still succeeds or fails by itself.
final class Committer {
  private let writer: StoreWriter
  private let repairer: Repairer
  private let activity: Activity
  /// Whether trees may have indexes.
  private let maintainsIndexes: Bool
  /// Whether every tree is known to be found by its name.
  private var hasCheckedNames = false

  init(_ writer: StoreWriter, _ repairer: Repairer, _ activity: Activity, maintainsIndexes: Bool) {
    self.writer = writer
    self.repairer = repairer
    self.activity = activity
    self.maintainsIndexes = maintainsIndexes
  }

  /// Applies commits and answers each.
  ///
  /// - Parameter trees: the trees of which eviction wants to know whether uncovered data was written.
  func commit(_ group: [PackedEngine.Pending], watching trees: Set<TreeID>) {
    for (pending, result) in zip(group, results(group, trees)) { pending.reply(result) }
  }

  /// Forgets what was known of the store, which another process may have had since.
  func forget() { hasCheckedNames = false }

  /// The tree with a name, made if there is none.
  func tree(
    _ name: String, _ order: KeyOrder, _ durability: Durability
  ) throws(StoreError) -> TreeID {
    try repairer.retrying { (_) throws(StoreError) in
      try writer.change(durability) { (tx) throws(StoreError) in
        if !hasCheckedNames, try Trees.find(tx, name) == nil {
          try Trees.checkNames(tx)
          hasCheckedNames = true
        }
        return try Trees.make(tx, name, order)
      }
    }
  }

  /// Stores the uses of queries that no commit has stored yet; called before the store is suspended
  /// or closed.
  func storeUses() throws(StoreError) {
    let uses = activity.uses.sorted { $0.value < $1.value }.map { (name: $0.key, use: $0.value) }
    guard !uses.isEmpty else { return }
    let stored = try repairer.retrying { (_) throws(StoreError) in
      try writer.change(.process) { (tx) throws(StoreError) in
        try Recency.store(tx, uses, distance: 0)
      }
    }
    activity.stored(stored)
  }

  /// Applies a group in one batch. When the store refuses the batch, the commits are applied one by
  /// one, so that only a commit that is too large, or has no space, fails.
  private func results(
    _ group: [PackedEngine.Pending], _ trees: Set<TreeID>
  ) -> [Result<CommitReceipt, StoreError>] {
    do throws(StoreError) {
      return try repairer.retrying { (tried) throws(StoreError) in
        try apply(group, trees, tried)
      }
    } catch {
      if group.count > 1, [.tooLarge, .full].contains(error.code) {
        return group.flatMap { results([$0], trees) }
      }
      return group.map { _ in .failure(error) }
    }
  }

  /// Applies a group in one batch; a commit that fails leaves the others alone.
  ///
  /// - Parameter tried: damaged records whose repair was tried; a commit that meets one again fails.
  private func apply(
    _ group: [PackedEngine.Pending], _ trees: Set<TreeID>, _ tried: Set<StoreError.Place>
  ) throws(StoreError) -> [Result<CommitReceipt, StoreError>] {
    let tx = try writer.leaves.transaction()
    defer { tx.close() }
    if let loss = writer.synced.loss { tx.effects.unreportedSteps = loss.floorSteps }
    var outcomes: [Result<(writes: [WriteID], queries: [QueryID]), StoreError>] = []
    var durability = Durability.relaxed
    // Such commits may use the reserve: the end of a write may make a document's overlay larger,
    // but the end of the next writes makes it smaller.
    tx.frees = group.allSatisfy { $0.edits.onlyEndWrites || $0.edits.letWritesEnd }
    for pending in group {
      let saved = tx.state
      do throws(StoreError) {
        outcomes.append(.success(try apply(pending, tx, trees)))
        durability = max(durability, pending.durability)
      } catch {
        if repairer.policy.repairs(error, tried) { throw error }
        repairer.policy.note(error)
        tx.restore(saved)
        outcomes.append(.failure(error))
      }
    }
    let feedsCache = group.contains { $0.edits.contains(where: \.feedsCache) }
    let limit = feedsCache ? Activity.mostPerCommit : Activity.mostPerWrite
    let uses = tx.state.isChanged ? try storeSomeUses(tx, limit) : Recency.Stored()
    let commit = try writer.commit(tx, durability)
    activity.stored(uses)
    return outcomes.map { outcome in
      outcome.map { CommitReceipt(commit: commit, writes: $0.writes, queries: $0.queries) }
    }
  }

  private func apply(
    _ pending: PackedEngine.Pending, _ tx: LeafTransaction, _ trees: Set<TreeID>
  ) throws(StoreError) -> (writes: [WriteID], queries: [QueryID]) {
    guard pending.durability <= writer.store.traits.strongest else {
      throw StoreError(
        .unsupported,
        "This store goes no further than \(writer.store.traits.strongest): commit at that, or choose "
          + "another backend.")
    }
    var applier = CommitApplier(tx, maintainsIndexes: maintainsIndexes)
    try applier.apply(pending.edits)
    try applier.findUncovered(in: trees)
    return (applier.writes, applier.queries)
  }

  /// Stores some uses of queries with a commit that writes anyway.
  private func storeSomeUses(
    _ tx: LeafTransaction, _ limit: Int
  ) throws(StoreError) -> Recency.Stored {
    let stored = try Recency.store(
      tx, activity.usesToStore(limit), distance: Activity.quantum)
    // The counter is a record of the system space.
    if tx.state.edits[Spaces.system] != nil {
      activity.advance(to: try Recency.clock(tx))
    }
    return stored
  }
}

extension [StorageEdit] {
  /// Whether they take writes out of those that wait, and otherwise store what the server's answer says. There are only as
  /// many such commits as writes that wait.
  fileprivate var onlyEndWrites: Bool {
    isEmpty || contains(where: \.endsWrites) && allSatisfy { $0.endsWrites || $0.mayBeAnswer }
  }

  /// Whether they store only what a client must store before the server is sent writes: who is signed in, and the token
  /// of the stream. That is little, and takes the place of what it was.
  fileprivate var letWritesEnd: Bool {
    allSatisfy { edit in
      if case .setMetadata(_, _, let bytes) = edit { (bytes?.count ?? 0) <= 1024 } else { false }
    }
  }
}

extension StorageEdit {
  /// Whether all it does is to take writes out of those that wait.
  fileprivate var endsWrites: Bool {
    switch self {
    case .finish, .purge, .setState(_, _, .rejected): true
    default: false
    }
  }

  /// Whether it may store what the server's answer to a write says: documents as they are now, the stream's token, and that
  /// the write was sent.
  fileprivate var mayBeAnswer: Bool {
    switch self {
    case .setMetadata, .setState(_, _, .sent): true
    case .documents(_, let edits): edits.allSatisfy { if case .put = $0 { true } else { false } }
    default: false
    }
  }
}

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
