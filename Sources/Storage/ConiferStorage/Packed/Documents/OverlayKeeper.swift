import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Keeps the overlays of documents in step with the edits of one commit.
///
/// It notes what edits touch, and changes the overlays once all edits are done. A batch that was queued is laid over
/// the overlay there is; whenever something else changed, all waiting batches of the document are applied anew.
struct OverlayKeeper {
  private enum Change {
    /// These batches were queued.
    case queued([MutationBatch])
    /// Writes ended or changed, or the server's word did.
    case other
  }

  private let tx: LeafTransaction
  private var changes: [Lane: [DocumentPath: Change]] = [:]
  /// Documents of which the server said something else.
  private var bases: [TreeID: Set<DocumentPath>] = [:]

  init(_ tx: LeafTransaction) { self.tx = tx }

  // MARK: What edits touch

  /// A batch was queued.
  mutating func didQueue(_ payload: WritePayload, in lane: Lane) {
    guard let batch = MutationBatch(payload) else { return }
    for path in batch.paths {
      switch changes[lane, default: [:]][path] {
      case nil: changes[lane, default: [:]][path] = .queued([batch])
      case .queued(let batches): changes[lane, default: [:]][path] = .queued(batches + [batch])
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

  /// The server's word of a document was stored or forgotten.
  mutating func didChangeBase(_ path: DocumentPath, in tree: TreeID) {
    bases[tree, default: []].insert(path)
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
        case .queued(let batches): try editor.queue(batches, over: path)
        case .other: try editor.renew(path)
        }
      }
    }
    changes = [:]
    bases = [:]
  }

  private static func precedes<V>(_ a: (key: Lane, value: V), _ b: (key: Lane, value: V)) -> Bool {
    (a.key.tree, a.key.identity) < (b.key.tree, b.key.identity)
  }

  /// Another base may change what the writes of every lane do to it.
  private mutating func addLanesOfBases() throws(StoreError) {
    for (tree, paths) in bases {
      let info = try Trees.known(tx, tree)
      for lane in try QueueReader.lanes(tx, tree) {
        let reader = try QueueReader(tx, lane, info.order, tx.leaves.codec)
        // Of a lane whose encryption key is missing nothing can be read, and others' commits must go on.
        guard try reader.totals().pending > 0, try reader.isReadable() else { continue }
        for path in paths where try reader.isTouched(DocumentKey.treePath(path)) {
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

  init(_ tx: LeafTransaction, _ info: TreeInfo, _ lane: Lane) {
    self.tx = tx
    self.lane = lane
    self.info = info
    rows = OverlayRows(view: tx, lane: lane)
    documents = DocumentReader(runs: tx.editor(lane.tree))
  }

  /// Lays batches that are being queued over what the overlay of a document shows.
  ///
  /// - Throws: `tooLarge` when the document is larger then than the service takes.
  func queue(_ batches: [MutationBatch], over path: DocumentPath) throws(StoreError) {
    let shown = try lay(batches, over: path)
    do {
      try shown.validateSize()
    } catch {
      throw StoreError(
        .tooLarge, "The write makes \(path) larger than the server takes: \(error.message)")
    }
  }

  /// Lays batches over what the overlay of a document shows.
  @discardableResult
  private func lay(
    _ batches: [MutationBatch], over path: DocumentPath
  ) throws(StoreError) -> Document {
    let base = try base(path)
    let known = try rows.overlay(path).map { overlay in
      MutationBatch(written: .zero, bases: [], mutations: [Mutation(overlay)])
    }
    let overlay = Overlay(of: (known.map { [$0] } ?? []) + batches, over: base)
    try set(overlay, path)
    return overlay?.applied(to: base) ?? base
  }

  /// Applies all waiting batches of a document anew.
  func renew(_ path: DocumentPath) throws(StoreError) {
    let reader = try QueueReader(tx, lane, info.order, tx.leaves.codec)
    // What a later version queued is not shown, and stays.
    let batches = try reader.entries(touching: DocumentKey.treePath(path)).compactMap {
      MutationBatch($0.payload)
    }
    try set(Overlay(of: batches, over: try base(path)), path)
  }

  /// The server's word of a document; what cannot be read counts as unseen, since it is dropped when it is read, or
  /// fails every read of the document.
  private func base(_ path: DocumentPath) throws(StoreError) -> Document {
    try undamaged { () throws(StoreError) in try documents.document(path) }
      ?? Document(path, .unseen)
  }

  private func set(_ overlay: Overlay?, _ path: DocumentPath) throws(StoreError) {
    let key = rows.key(path)
    guard let overlay else { return try tx.delete(Spaces.overlays, key) }
    try tx.put(Spaces.overlays, key, payload: OverlayRows.payload(overlay))
  }

  /// Makes all overlays of the lane anew, of those waiting writes that can be read: one that cannot be is set aside
  /// when it is read.
  func renewAll() throws(StoreError) {
    let reader = try QueueReader(tx, lane, info.order, tx.leaves.codec)
    guard try reader.isReadable() else { return }
    try tx.deleteAll(Spaces.overlays, prefix: rows.prefix)
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
        for path in batch.paths { try lay([batch], over: path) }
      }
      guard let last = keys.last else { return }
      after = last
    }
  }
}

extension Mutation {
  /// The write that does what an overlay does.
  init(_ overlay: Overlay) {
    switch overlay.effect {
    case .set(let fields): self.init(overlay.path, .set(fields, []))
    case .patch(let fields, let mask): self.init(overlay.path, .patch(fields, mask, []))
    case .delete: self.init(overlay.path, .delete)
    }
  }
}
