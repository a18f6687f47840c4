import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

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
  /// - Throws: `tooLarge` when one of them makes the document larger than the service accepts.
  func append(_ batches: [MutationBatch], over path: DocumentPath) throws(StoreError) {
    let base = try base(path)
    let known = try rows.overlay(path)
    // The server is sent each of them.
    var shown = known?.applied(to: base) ?? base
    for batch in batches.dropLast() {
      shown = batch.applied(to: shown)
      try Self.measure(shown)
    }
    let overlay = Overlay(of: batches, behind: known, over: base)
    try Self.measure(overlay?.applied(to: base) ?? base)
    try set(overlay, path)
  }

  /// Refuses a document that is larger than the service accepts.
  private static func measure(_ shown: Document) throws(StoreError) {
    do {
      try shown.validateSize()
    } catch {
      throw StoreError(
        .tooLarge, "The write makes \(shown.path) larger than the server takes: \(error.message)")
    }
  }

  /// Applies all waiting batches of a document again. While writes wait, an overlay is kept if a
  /// later version wrote it or its document, so that answers and changes from the server can still
  /// be stored.
  ///
  /// - Parameter new: the writes that are queued now; documents are measured from the first of them
  ///   on. What waited before was measured then, and must not keep the server's word from being stored.
  /// - Throws: `tooLarge` when a document that is measured is larger than the service accepts.
  func rebuild(_ path: DocumentPath, measuring new: Set<WriteID> = []) throws(StoreError) {
    let reader = try QueueReader(tx, lane, info.order, tx.leaves.codec)
    let place = DocumentKey.treePath(path)
    let base = try Self.knownBase(path, documents.runs)
    let isLater = try rows.isLater(rows.key(path))
    if base == nil || isLater, try reader.isTouched(place) { return }
    // Batches that a later version queued are not shown, and stay queued.
    let entries = try reader.entries(touching: place)
    let batches = entries.compactMap { MutationBatch($0.payload) }
    if let base, let first = entries.firstIndex(where: { new.contains($0.id) }) {
      let earlier = entries[..<first].compactMap { MutationBatch($0.payload) }
      var shown = earlier.reduce(base) { $1.applied(to: $0) }
      for batch in batches[earlier.count...] {
        shown = batch.applied(to: shown)
        try Self.measure(shown)
      }
    }
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
          let base = try base(path)
          try set(Overlay(of: [batch], behind: try rows.overlay(path), over: base), path)
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
