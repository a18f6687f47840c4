public import ConiferKeyValue

/// A write in the outbound queue that changes a tree, with its content decoded.
public struct QueuedWrite: Hashable, Sendable {
  /// Its number.
  public let id: WriteID
  /// Its content.
  public var content: WriteContent
  /// Its state.
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

  /// The write that an entry holds; nil when it is not one to a tree.
  public init?(_ entry: QueueEntry) {
    guard let content = WriteContent(entry.payload) else { return nil }
    self.init(id: entry.id, content: content, state: entry.state, attempts: entry.attempts)
  }

  /// The write as the queue keeps it.
  public var entry: QueueEntry {
    QueueEntry(id: id, payload: content.payload, state: state, attempts: attempts)
  }
}

/// Writes of other kinds, which another program or a later version queued, are skipped and stay in
/// the queue.
extension StorageView {
  /// One write to a tree that is not finished; nil also for a write of another kind.
  ///
  /// - Throws: as ``entry(_:_:)``.
  public func write(_ lane: Lane, _ id: WriteID) throws(StoreError) -> QueuedWrite? {
    try entry(lane, id).flatMap(QueuedWrite.init)
  }

  /// A window of the writes to a tree that wait for an answer, by number; shorter than `limit` only at
  /// the lane's end.
  ///
  /// - Throws: as ``entries(_:after:limit:)``.
  public func writes(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [QueuedWrite] {
    try Self.writes(after, limit) { (after, limit) throws(StoreError) in
      try entries(lane, after: after, limit: limit)
    }
  }

  /// A window of the rejected writes to a tree, by number; shorter than `limit` only at the lane's end.
  ///
  /// - Throws: as ``rejectedEntries(_:after:limit:)``.
  public func rejectedWrites(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [QueuedWrite] {
    try Self.writes(after, limit) { (after, limit) throws(StoreError) in
      try rejectedEntries(lane, after: after, limit: limit)
    }
  }

  private static func writes(
    _ after: WriteID?, _ limit: Int,
    in window: (WriteID?, Int) throws(StoreError) -> [QueueEntry]
  ) throws(StoreError) -> [QueuedWrite] {
    var (found, last) = ([QueuedWrite](), after)
    while found.count < limit {
      let entries = try window(last, limit)
      found += entries.compactMap(QueuedWrite.init).prefix(limit - found.count)
      guard entries.count == limit, let end = entries.last else { break }
      last = end.id
    }
    return found
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
