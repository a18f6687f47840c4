import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Changes the overlays of one lane within a commit.
struct OverlayEditor {
  private let tx: LeafTransaction
  private let lane: Lane
  private let rows: OverlayRows
  private let documents: DocumentReader<RunEditor>
  private let reader: QueueReader
  private let waiting: WaitingBatches
  /// How many writes are checked to find that an overlay is unchanged.
  private static let writesChecked = 16

  init(_ tx: LeafTransaction, _ info: TreeInfo, _ lane: Lane) throws(StoreError) {
    self.tx = tx
    self.lane = lane
    rows = OverlayRows(view: tx, lane: lane)
    documents = DocumentReader(runs: tx.editor(lane.tree))
    reader = try QueueReader(tx, lane, info.order, tx.leaves.codec)
    waiting = WaitingBatches(reader)
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
    let place = DocumentKey.treePath(path)
    let base = try Self.knownBase(path, documents.runs)
    let isLater = try rows.isLater(path)
    if base == nil || isLater, try reader.isTouched(place) { return }
    var batches: [MutationBatch] = []
    var shown = base
    var isMeasured = false
    for id in try reader.candidates(touching: place) {
      isMeasured = isMeasured || new.contains(id)
      // Batches that a later version queued are not shown, and stay queued.
      guard let batch = try waiting.part(id, of: path) else { continue }
      batches.append(batch)
      guard !new.isEmpty else { continue }
      shown = shown.map(batch.applied)
      if isMeasured, let shown { try Self.measure(shown) }
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
    let place = DocumentKey.treePath(path)
    guard let oldest = try reader.oldest(at: place),
      let first = try waiting.part(oldest, of: path)
    else { return false }
    var newest: [MutationBatch] = []
    for id in try reader.newest(at: place, limit: Self.writesChecked) {
      // A batch that a later version queued is not shown.
      guard id.rawValue > through, let batch = try waiting.part(id, of: path) else { break }
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
    if try EarlierOverlays.areThere(tx, lane.tree) {
      try tx.delete(Spaces.earlierOverlays, rows.key(Spaces.earlierOverlays, path))
    }
    let key = rows.key(path)
    guard let overlay else { return try tx.delete(Spaces.overlays, key) }
    try tx.put(Spaces.overlays, key, payload: OverlayRows.payload(overlay))
  }

  /// Rebuilds all overlays of the lane from the waiting writes that can be read; a write that
  /// cannot be read is set aside when it is read.
  func rebuildAll() throws(StoreError) {
    guard try reader.isReadable() else { return }
    // Overlays that a later version wrote, or whose document it wrote, are kept.
    var kept: Set<DocumentPath> = []
    for space in try rows.spaces() {
      for (key, value) in try tx.entries(space, prefix: rows.prefix) {
        if let path = try pathToKeep(.init(space: space, key: key, value: value)) {
          kept.insert(path)
        } else {
          try tx.delete(space, key)
        }
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
        for (path, part) in batch.parts.sorted(by: { $0.key < $1.key })
        where !kept.contains(path) {
          guard let base = try Self.knownBase(path, documents.runs) else { continue }
          try set(Overlay(of: [part], behind: try rows.overlay(path), over: base), path)
        }
      }
      guard let last = keys.last else { return }
      after = last
    }
  }

  /// The document of a row that a later version wrote, or whose document it wrote.
  private func pathToKeep(_ row: OverlayRows.Row) throws(StoreError) -> DocumentPath? {
    if OverlayRows.isLater(row) { return OverlayRows.path(row) }
    let overlay = try undamaged { () throws(StoreError) in try OverlayRows.overlay(row) }
    guard let path = overlay?.path, try Self.knownBase(path, documents.runs) == nil else {
      return nil
    }
    return path
  }
}
