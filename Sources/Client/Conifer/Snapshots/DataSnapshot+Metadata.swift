import ConiferSync

extension DataSnapshot {
  /// How well a snapshot's data is known, as of when it was made; as the document client's `SnapshotMetadata`.
  ///
  /// As in the Realtime Database, a change of the metadata alone is no event: an observer's last snapshot may have been
  /// confirmed since, and a write that waited may have been done. A write is followed by its receipt, the connection by
  /// `Database.connectionStates`.
  public struct Metadata: Hashable, Sendable {
    /// Whether a write that the server has not accepted changes what is shown.
    ///
    /// In the event of a child it is about the child alone; ``DataSnapshot/children`` and
    /// ``DataSnapshot/childSnapshot(forPath:)`` have what the whole snapshot has.
    public let hasPendingWrites: Bool
    /// Whether the data may differ from the server's, pending writes aside: the server had not told all of it, or the
    /// connection on which it tells each change was broken.
    public let isFromCache: Bool
    /// Whether the server has told all that is asked for, in this run or an earlier one, as far as the cache still holds
    /// that; otherwise some of it is only known from the app's own writes, or not at all.
    public let wasEverComplete: Bool
    /// The server's time in milliseconds since 1970 when it last told something of the data, as far as that is known;
    /// nil where it did not in this run. What no server tells, as `.info`, has none.
    public let serverTime: Int64?

    init(_ knowledge: ViewKnowledge) {
      hasPendingWrites = knowledge.hasPendingWrites
      isFromCache = !knowledge.isCurrent
      wasEverComplete = knowledge.wasEverComplete
      serverTime = knowledge.serverTime
    }
  }
}

extension DataSnapshot.Metadata: CustomStringConvertible {
  /// What is known in short.
  public var description: String {
    "hasPendingWrites: \(hasPendingWrites), isFromCache: \(isFromCache), "
      + "wasEverComplete: \(wasEverComplete), serverTime: \(serverTime.map { "\($0)" } ?? "unknown")"
  }
}
