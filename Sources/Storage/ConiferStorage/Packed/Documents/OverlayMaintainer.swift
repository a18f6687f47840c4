import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Updates the overlays of documents within one commit.
///
/// It records what edits change, and updates the overlays once all edits are done. A batch that was
/// queued is applied to the existing overlay; after any other change, all waiting batches of the
/// document are applied again.
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

  /// By tree: the lanes with waiting writes at the time of the first question.
  private var waiting: [TreeID: [Lane]] = [:]

  init(_ tx: LeafTransaction) { self.tx = tx }

  // MARK: What edits touch

  /// A batch was queued.
  mutating func didQueue(_ payload: WritePayload, in lane: Lane) {
    guard let batch = MutationBatch(payload) else { return }
    for path in batch.paths {
      switch changes[lane, default: [:]][path] {
      case nil: changes[lane, default: [:]][path] = .queued([batch])
      case .queued(let batches): changes[lane, default: [:]][path] = .queued(batches + [batch])
      case .answered: changes[lane, default: [:]][path] = .other
      case .other: break
      }
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
    guard try tx.usage(tree).bytes[Spaces.overlays.id] ?? 0 > 0 else { return }
    if waiting[tree] == nil { waiting[tree] = try QueueReader.lanes(tx, tree) }
    for lane in waiting[tree] ?? [] {
      let key = OverlayRows(view: tx, lane: lane).key(path)
      // An overlay that cannot be read, for example for lack of a key, is rebuilt or kept by the
      // code that reads it.
      let isThere = try? tx.get(Spaces.overlays, key, { _ in true })
      if isThere == true { try record(path, in: lane, answeredThrough: 0) }
    }
  }

  /// All writes of a lane were dropped.
  mutating func didPurge(_ lane: Lane) throws(StoreError) {
    changes[lane] = nil
    try tx.deleteAll(Spaces.overlays, prefix: QueueReader.prefix(lane))
  }

  /// A tree was removed with all of its records.
  mutating func didWipe(_ tree: TreeID) {
    changes = changes.filter { $0.key.tree != tree }
    bases[tree] = nil
  }

  // MARK: After all edits

  /// Changes the overlays.
  ///
  /// - Throws: `tooLarge` when a queued write makes a document larger than the service takes.
  mutating func finish() throws(StoreError) {
    try addLanesOfBases()
    for (lane, documents) in changes.sorted(by: Self.precedes) {
      let info = try Trees.known(tx, lane.tree)
      guard info.order == .documents else { continue }
      let editor = OverlayEditor(tx, info, lane)
      for (path, change) in documents.sorted(by: { $0.key < $1.key }) {
        switch change {
        case .queued(let batches): try editor.append(batches, over: path)
        case .answered(let through, let wasFound):
          if try !editor.isUnchanged(path, through: through, wasFound) { try editor.rebuild(path) }
        case .other: try editor.rebuild(path)
        }
      }
    }
    changes = [:]
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

/// Changes the overlays of one lane within a commit.
struct OverlayEditor {
  private let tx: LeafTransaction
  private let lane: Lane
  private let info: TreeInfo
  private let rows: OverlayRows
  private let documents: DocumentReader<RunEditor>
  /// How many writes are checked to find that an overlay is unchanged.
  private static let writesChecked = 16

  init(_ tx: LeafTransaction, _ info: TreeInfo, _ lane: Lane) {
    self.tx = tx
    self.lane = lane
    self.info = info
    rows = OverlayRows(view: tx, lane: lane)
    documents = DocumentReader(runs: tx.editor(lane.tree))
  }

  /// Applies batches that are being queued to a document with its overlay.
  ///
  /// - Throws: `tooLarge` when they make the document larger than the service accepts.
  func append(_ batches: [MutationBatch], over path: DocumentPath) throws(StoreError) {
    let shown = try add(batches, over: path)
    do {
      try shown.validateSize()
    } catch {
      throw StoreError(
        .tooLarge, "The write makes \(path) larger than the server takes: \(error.message)")
    }
  }

  /// Applies batches to a document with its overlay.
  @discardableResult
  private func add(
    _ batches: [MutationBatch], over path: DocumentPath
  ) throws(StoreError) -> Document {
    let base = try base(path)
    let overlay = Overlay(of: batches, behind: try rows.overlay(path), over: base)
    try set(overlay, path)
    return overlay?.applied(to: base) ?? base
  }

  /// Applies all waiting batches of a document again. While writes wait, an overlay is kept if a
  /// later version wrote it or its document, so that answers and changes from the server can still
  /// be stored.
  func rebuild(_ path: DocumentPath) throws(StoreError) {
    let reader = try QueueReader(tx, lane, info.order, tx.leaves.codec)
    let place = DocumentKey.treePath(path)
    let base = try Self.knownBase(path, documents.runs)
    let isLater = try rows.isLater(rows.key(path))
    if base == nil || isLater, try reader.isTouched(place) { return }
    // Batches that a later version queued are not shown, and stay queued.
    let batches = try reader.entries(touching: place).compactMap { MutationBatch($0.payload) }
    try set(base.flatMap { Overlay(of: batches, over: $0) }, path)
  }

  /// Whether the overlay of a document is still the effect of the waiting writes, although others
  /// ended or the server's word changed. It reads only a few of the writes, whereas rebuilding the
  /// overlay reads all.
  ///
  /// - Parameters:
  ///   - through: the newest write that ended.
  ///   - wasFound: whether the document existed before.
  func isUnchanged(
    _ path: DocumentPath, through: UInt64, _ wasFound: Bool
  ) throws(StoreError) -> Bool {
    guard wasFound, let overlay = try rows.overlayWithStamps(path) else { return false }
    let reader = try QueueReader(tx, lane, info.order, tx.leaves.codec)
    let place = DocumentKey.treePath(path)
    guard let oldest = try reader.oldest(touching: place),
      let first = MutationBatch(oldest.payload)
    else { return false }
    var newest: [MutationBatch] = []
    for entry in try reader.newest(touching: place, limit: Self.writesChecked) {
      // A batch that a later version queued is not shown.
      guard entry.id.rawValue > through, let batch = MutationBatch(entry.payload) else { break }
      newest.append(batch)
    }
    return overlay.isDecided(by: newest, oldest: first, over: try base(path))
  }

  /// The server's word of a document. One that cannot be read counts as unseen: it is dropped when
  /// it is read, or makes every read of the document fail.
  ///
  /// - Throws: `newerFormat` for one that a later version wrote, since the effect of a write on it
  ///   is not known here.
  private func base(_ path: DocumentPath) throws(StoreError) -> Document {
    guard let base = try Self.knownBase(path, documents.runs) else {
      throw DocumentRecord.newerFormat
    }
    return base
  }

  /// The server's word of a document; nil when a later version wrote it.
  static func knownBase(
    _ path: DocumentPath, _ runs: some RunSource
  ) throws(StoreError) -> Document? {
    do throws(StoreError) {
      return try undamaged { () throws(StoreError) in try DocumentReader(runs: runs).document(path)
      }
        ?? Document(path, .unseen)
    } catch {
      guard error.code == .newerFormat else { throw error }
      return nil
    }
  }

  private func set(_ overlay: Overlay?, _ path: DocumentPath) throws(StoreError) {
    let key = rows.key(path)
    guard let overlay else { return try tx.delete(Spaces.overlays, key) }
    try tx.put(Spaces.overlays, key, payload: OverlayRows.payload(overlay))
  }

  /// Rebuilds all overlays of the lane from the waiting writes that can be read; a write that
  /// cannot be read is set aside when it is read.
  func rebuildAll() throws(StoreError) {
    let reader = try QueueReader(tx, lane, info.order, tx.leaves.codec)
    guard try reader.isReadable() else { return }
    // Overlays that a later version wrote, or whose document it wrote, are kept.
    var kept: Set<Bytes> = []
    for (key, value) in try tx.entries(Spaces.overlays, prefix: rows.prefix) {
      if try staysAsItIs(key, value) {
        kept.insert(key)
      } else {
        try tx.delete(Spaces.overlays, key)
      }
    }
    let prefix = rows.prefix + [QueueReader.Section.unanswered.rawValue]
    var after: Bytes?
    while true {
      let keys = try tx.keys(Spaces.queue, prefix: prefix, after: after, limit: 256)
      for key in keys {
        let entry = try undamaged { () throws(StoreError) in
          try tx.value(Spaces.queue, key).map { (value) throws(StoreError) in
            try reader.found(.unanswered, key, value).entry
          }
        }
        guard let payload = entry??.payload, let batch = MutationBatch(payload) else { continue }
        for path in batch.paths where !kept.contains(rows.key(path)) {
          guard try Self.knownBase(path, documents.runs) != nil else { continue }
          try add([batch], over: path)
        }
      }
      guard let last = keys.last else { return }
      after = last
    }
  }

  /// Whether a later version wrote a row, or its document.
  private func staysAsItIs(_ key: Bytes, _ value: Bytes) throws(StoreError) -> Bool {
    if try rows.isLater(key) { return true }
    let overlay = try undamaged { () throws(StoreError) in try OverlayRows.overlay(key, value) }
    guard let path = overlay?.path else { return false }
    return try Self.knownBase(path, documents.runs) == nil
  }
}
