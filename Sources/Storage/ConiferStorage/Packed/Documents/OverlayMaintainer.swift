import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Updates the overlays of documents within one commit.
///
/// It records what edits change, and updates the overlays once all edits are done. A batch that was
/// queued is applied to the existing overlay; after any other change, all waiting batches of the
/// document are applied again. Either way what a new batch makes of its document is measured.
struct OverlayMaintainer {
  private enum Change {
    /// These batches were queued.
    case queued([MutationBatch])
    /// Writes up to a number were answered, the server's word changed, or both.
    case answered(through: UInt64, wasFound: Bool)
    /// Writes ended or changed, or the server's word did.
    case other
  }

  private let tx: LeafTransaction
  private var changes: [Lane: [DocumentPath: Change]] = [:]
  /// Documents whose word from the server changes; some may be listed twice.
  private var bases: [TreeID: [DocumentPath]] = [:]

  /// The writes that this commit queues or puts in the place of others, by document.
  private var written: [Lane: [DocumentPath: Set<WriteID>]] = [:]

  /// By tree: the lanes with waiting writes at the time of the first question.
  private var waiting: [TreeID: [Lane]] = [:]

  init(_ tx: LeafTransaction) { self.tx = tx }

  // MARK: What edits touch

  /// A batch was queued.
  ///
  /// - Throws: `tooLarge` when no request may have it.
  mutating func didQueue(
    _ id: WriteID, _ payload: WritePayload, in lane: Lane
  ) throws(StoreError) {
    guard let batch = MutationBatch(payload) else { return }
    try Self.measure(batch)
    // Each document gets its own writes: a batch may have many, and is not searched for each of them.
    for (path, part) in batch.parts {
      written[lane, default: [:]][path, default: []].insert(id)
      switch changes[lane, default: [:]][path] {
      case nil: changes[lane, default: [:]][path] = .queued([part])
      case .queued(let batches): changes[lane, default: [:]][path] = .queued(batches + [part])
      case .answered: changes[lane, default: [:]][path] = .other
      case .other: break
      }
    }
  }

  /// A write that has another payload than before, or was rejected, waits.
  ///
  /// - Throws: `tooLarge` when no request may have it.
  mutating func didReplace(
    _ id: WriteID, _ payload: WritePayload, in lane: Lane
  ) throws(StoreError) {
    didChange(payload, in: lane)
    guard let batch = MutationBatch(payload) else { return }
    try Self.measure(batch)
    for path in batch.paths { written[lane, default: [:]][path, default: []].insert(id) }
  }

  /// Refuses a batch that the server would refuse for its size, or could not even be sent.
  private static func measure(_ batch: MutationBatch) throws(StoreError) {
    do throws(DocumentError) { try batch.validateSize() } catch {
      throw StoreError(.tooLarge, "The server does not take the write: \(error.message)")
    }
  }

  /// A write of a lane ended, or changed in another way.
  mutating func didChange(_ payload: WritePayload, in lane: Lane) {
    guard payload.kind == .documents else { return }
    for path in payload.touches.compactMap({ DocumentKey.document($0) }) {
      changes[lane, default: [:]][path] = .other
    }
  }

  /// A write of a lane was answered, and will be removed.
  mutating func didFinish(_ id: WriteID, _ payload: WritePayload, in lane: Lane) throws(StoreError)
  {
    guard payload.kind == .documents else { return }
    for path in payload.touches.compactMap({ DocumentKey.document($0) }) {
      try record(path, in: lane, answeredThrough: id.rawValue)
    }
  }

  private mutating func record(
    _ path: DocumentPath, in lane: Lane, answeredThrough id: UInt64
  ) throws(StoreError) {
    switch changes[lane]?[path] {
    case nil:
      let base = try OverlayEditor.knownBase(path, EditedRuns(tx.editor(lane.tree)))
      changes[lane, default: [:]][path] = .answered(through: id, wasFound: base?.fields != nil)
    case .answered(let through, let wasFound):
      changes[lane, default: [:]][path] = .answered(through: max(through, id), wasFound: wasFound)
    case .queued: changes[lane, default: [:]][path] = .other
    case .other: break
    }
  }

  /// Called before the server's word of a document is stored or forgotten.
  mutating func willChangeBase(_ path: DocumentPath, in tree: TreeID) throws(StoreError) {
    bases[tree, default: []].append(path)
    // Without an overlay there is nothing that could be kept.
    let bytes = try tx.usage(tree).bytes
    let spaces = [Spaces.overlays, Spaces.earlierOverlays].filter { bytes[$0.id] ?? 0 > 0 }
    guard !spaces.isEmpty else { return }
    if waiting[tree] == nil { waiting[tree] = try QueueReader.lanes(tx, tree) }
    for lane in waiting[tree] ?? [] {
      let rows = OverlayRows(view: tx, lane: lane)
      // An overlay that cannot be read, for example for lack of a key, is rebuilt or kept by the
      // code that reads it.
      let isThere = spaces.contains { space in
        (try? tx.get(space, rows.key(space, path), { _ in true })) == true
      }
      if isThere { try record(path, in: lane, answeredThrough: 0) }
    }
  }

  /// All writes of a lane were dropped.
  mutating func didPurge(_ lane: Lane) throws(StoreError) {
    changes[lane] = nil
    written[lane] = nil
    for space in [Spaces.overlays, Spaces.earlierOverlays] {
      try tx.deleteAll(space, prefix: QueueReader.prefix(lane))
    }
  }

  /// A tree was removed with all of its records.
  mutating func didWipe(_ tree: TreeID) {
    changes = changes.filter { $0.key.tree != tree }
    written = written.filter { $0.key.tree != tree }
    bases[tree] = nil
  }

  // MARK: After all edits

  /// Changes the overlays.
  ///
  /// - Throws: `tooLarge` when a write of this commit, or one that waits behind it, makes a document
  ///   larger than the service takes.
  mutating func finish() throws(StoreError) {
    try addLanesOfBases()
    for (lane, documents) in changes.sorted(by: Self.precedes) {
      let info = try Trees.known(tx, lane.tree)
      guard info.order == .documents else { continue }
      let editor = try OverlayEditor(tx, info, lane)
      for (path, change) in documents.sorted(by: { $0.key < $1.key }) {
        switch change {
        case .queued(let batches): try editor.append(batches, over: path)
        case .answered(let through, let wasFound):
          if try !editor.isUnchanged(path, through: through, wasFound) { try editor.rebuild(path) }
        case .other: try editor.rebuild(path, measuring: written[lane]?[path] ?? [])
        }
      }
    }
    changes = [:]
    written = [:]
    bases = [:]
  }

  private static func precedes<V>(_ a: (key: Lane, value: V), _ b: (key: Lane, value: V)) -> Bool {
    (a.key.tree, a.key.identity) < (b.key.tree, b.key.identity)
  }

  /// Adds the lanes of changed documents: when the server's word of a document changes, the writes
  /// of every lane may have another effect on it.
  private mutating func addLanesOfBases() throws(StoreError) {
    for (tree, paths) in bases {
      let info = try Trees.known(tx, tree)
      for lane in try QueueReader.lanes(tx, tree) {
        let reader = try QueueReader(tx, lane, info.order, tx.leaves.codec)
        // A lane whose encryption key is missing is skipped, since its writes cannot be read and
        // other lanes' commits must succeed.
        guard try reader.totals().pending > 0, try reader.isReadable() else { continue }
        for path in paths where try reader.isTouched(DocumentKey.treePath(path)) {
          if case .answered = changes[lane]?[path] { continue }
          changes[lane, default: [:]][path] = .other
        }
      }
    }
  }
}
