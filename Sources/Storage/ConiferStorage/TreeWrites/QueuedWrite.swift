public import ConiferKeyValue

/// A write to a tree in the outbound queue.
public struct QueuedWrite: Hashable, Sendable {
  /// Its number.
  public let id: WriteID
  /// What it asks for.
  public var content: WriteContent
  /// Where it stands.
  public var state: WriteState
  /// How often it was sent.
  public var attempts: UInt32

  /// A write in the queue.
  public init(
    id: WriteID, content: WriteContent, state: WriteState = .queued, attempts: UInt32 = 0
  ) {
    self.id = id
    self.content = content
    self.state = state
    self.attempts = attempts
  }

  /// The write that an entry holds.
  ///
  /// - Throws: `unsupported` when it is of another kind, or has something that this version does not
  ///   read.
  public init(_ entry: QueueEntry) throws(StoreError) {
    guard let content = WriteContent(entry.payload) else {
      throw StoreError(
        .unsupported,
        "Queued write \(entry.id.rawValue) (\(entry.payload.kind)) is not one to a tree that this "
          + "version of Conifer reads: open the store with the program that queued it.")
    }
    self.init(id: entry.id, content: content, state: entry.state, attempts: entry.attempts)
  }

  /// The write as the queue keeps it.
  public var entry: QueueEntry {
    QueueEntry(id: id, payload: content.payload, state: state, attempts: attempts)
  }
}

extension StorageView {
  /// One write to a tree that is not finished.
  ///
  /// - Throws: as ``entry(_:_:)``, and `unsupported` for a write that is not one to a tree.
  public func write(_ lane: Lane, _ id: WriteID) throws(StoreError) -> QueuedWrite? {
    guard let entry = try entry(lane, id) else { return nil }
    return try QueuedWrite(entry)
  }

  /// A window of the writes that wait for an answer, by number.
  ///
  /// - Throws: as ``entries(_:after:limit:)``, and `unsupported` when one is not a write to a tree.
  public func writes(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [QueuedWrite] {
    try entries(lane, after: after, limit: limit).map(QueuedWrite.init)
  }

  /// A window of the rejected writes, by number.
  ///
  /// - Throws: as ``rejectedEntries(_:after:limit:)``, and `unsupported` when one is not a write to a
  ///   tree.
  public func rejectedWrites(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [QueuedWrite] {
    try rejectedEntries(lane, after: after, limit: limit).map(QueuedWrite.init)
  }
}

extension StorageEdit {
  /// Appends a write to a tree; the receipt tells its number.
  public static func enqueue(_ lane: Lane, _ content: WriteContent) -> StorageEdit {
    .enqueue(lane, content.payload)
  }

  /// Puts a write to a tree back under its number.
  public static func restore(_ lane: Lane, _ write: QueuedWrite) -> StorageEdit {
    .restore(lane, write.entry)
  }

  /// Replaces what a waiting or rejected write asks for, and queues it again.
  public static func replace(_ lane: Lane, _ id: WriteID, _ content: WriteContent) -> StorageEdit {
    .replace(lane, id, content.payload)
  }
}
