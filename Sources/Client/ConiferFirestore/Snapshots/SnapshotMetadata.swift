import ConiferDocument

/// The metadata of a snapshot, such as whether it holds pending writes or comes from the cache.
///
/// Two are equal when `hasPendingWrites` and `isFromCache` are, as on Apple.
public struct SnapshotMetadata: Sendable {
  /// Whether writes that the server has not accepted show in it.
  public let hasPendingWrites: Bool
  /// Whether the data may differ from the server's.
  public let isFromCache: Bool
  /// Whether the server has ever told all of what is asked for, in this run of the app or an earlier one:
  /// all that a query gives, or whether a document exists and what is in it.
  public let wasEverComplete: Bool
  /// As of when the server told what is shown, pending writes aside; nil when it never did.
  public let serverTime: Timestamp?

  init(
    hasPendingWrites: Bool, isFromCache: Bool, wasEverComplete: Bool,
    serverTime: ConiferDocument.Timestamp
  ) {
    self.hasPendingWrites = hasPendingWrites
    self.isFromCache = isFromCache
    self.wasEverComplete = wasEverComplete
    self.serverTime = serverTime == .zero ? nil : Timestamp(serverTime)
  }
}

extension SnapshotMetadata: Hashable, CustomStringConvertible {
  /// Whether both have pending writes, or neither, and are from the cache, or not.
  public static func == (a: SnapshotMetadata, b: SnapshotMetadata) -> Bool {
    a.hasPendingWrites == b.hasPendingWrites && a.isFromCache == b.isFromCache
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(hasPendingWrites)
    hasher.combine(isFromCache)
  }

  /// The two flags.
  public var description: String {
    "SnapshotMetadata(hasPendingWrites: \(hasPendingWrites), isFromCache: \(isFromCache))"
  }
}
