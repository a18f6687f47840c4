/// The numbers of an identity's pending and rejected writes, and their bytes, known without reading
/// the queue.
public struct PendingWriteTotals: Sendable, Hashable {
  /// Writes that wait for the server.
  public var pending: Int
  /// Writes that the server refused and that wait for the app.
  public var rejected: Int
  /// Bytes of the store that its queue takes.
  public var bytes: Int

  /// The totals of a queue.
  public init(pending: Int = 0, rejected: Int = 0, bytes: Int = 0) {
    self.pending = pending
    self.rejected = rejected
    self.bytes = bytes
  }
}
