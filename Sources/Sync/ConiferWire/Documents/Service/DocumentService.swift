package import ConiferDocument

/// A server of one database of documents, as a client reaches it: within the process, over a network, or a
/// script of a test.
///
/// Streams and requests bear the user's token, which is nil for nobody. The functions that a stream is
/// opened with are called with each event, one after the other, on any thread, and never from within a
/// call to the service or the stream; `closed` comes last, exactly once, also when the client closed it.
package protocol DocumentService: Sendable {
  /// Begins to open a stream of listens; returns at once.
  func openWatch(
    token: String?, _ receive: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream
  /// Begins to open a stream of writes; returns at once.
  func openWrites(
    token: String?, _ receive: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream
  /// Waits for what a request shows besides the user's token, ten seconds at most. Who makes sure of the user asks for that
  /// token afterwards, since another one may sign in meanwhile: `lookup` and `commit` do not wait. By default there is nothing
  /// to wait for.
  func prepare() async
  /// The app has another token of its own, which what begins from now on is to show. By default there is none.
  func appTokenDidChange()
  /// Reads documents, each found or missing, in the order of their paths in the call.
  func lookup(_ paths: [DocumentPath], token: String?) async throws(StatusError) -> [Document]
  /// Makes writes outside of the stream of writes, whole or not at all.
  func commit(_ writes: [Mutation], token: String?) async throws(StatusError) -> CommitResult
  /// Computes numbers of what a query finds: a value for each aggregate, in their order.
  func aggregate(
    _ query: DocumentQuery, _ aggregates: [Aggregate], token: String?
  ) async throws(StatusError) -> [DocumentValue]
}

extension DocumentService {
  package func prepare() async {}
  package func appTokenDidChange() {}
}

/// What comes on a stream of listens.
package enum WatchStreamEvent: Sendable {
  /// Targets may be added.
  case opened
  /// The server said something; with the moment up to which all was said of all targets, when it is.
  case said(WatchChange, version: Timestamp?)
  /// The stream has ended, or was never opened; nil when the client closed it.
  case closed(StatusError?)
}

/// A stream of listens. Calls never block, and do nothing after the stream has ended.
package protocol WatchStream: AnyObject, Sendable {
  /// Listens to a target.
  func add(_ target: WatchTarget)
  /// Listens to a target no longer.
  func remove(_ target: TargetID)
  /// The client has handled the oldest event that it had not handled yet, so one more may come. A
  /// stream over a network reads no further ahead than `WatchStreamLimits` says. By default nothing
  /// limits the events.
  func taken()
  /// Ends the stream.
  func close()
}

extension WatchStream {
  package func taken() {}
}

/// How far a stream of listens may be ahead of its client.
package enum WatchStreamLimits {
  /// The most messages that may be delivered before the client has handled earlier ones.
  package static let ahead = 64
  /// The most bytes of these messages, as received. A single message may be larger.
  package static let bytesAhead = 8 << 20
}

/// What comes on a stream of writes.
package enum WriteStreamEvent: Sendable {
  /// The server may be greeted.
  case opened
  /// The server answered the greeting; with the token for the next request.
  case greeted(token: [UInt8])
  /// The server made the writes of the oldest request that is not answered.
  case answered(CommitResult, token: [UInt8])
  /// The stream has ended, or was never opened; nil when the client closed it. A server that refuses
  /// a request ends the stream with the reason.
  case closed(StatusError?)
}

/// A stream of writes. Calls never block, and do nothing after the stream has ended.
package protocol WriteStream: AnyObject, Sendable {
  /// Greets the server, once, before anything is sent.
  ///
  /// - Parameter token: what came with the last answer of an earlier stream; empty when there was none.
  func greet(token: [UInt8])
  /// Sends writes that are to be made whole or not at all.
  ///
  /// - Parameter batch: the number of this batch, which no other one of the client's on this stream, or on the ones that it goes
  ///   on with, ever has: by it the server tells an equal batch from one that is sent again. Nil when it has none; a protocol
  ///   that has no place for it leaves it out.
  func send(_ writes: [Mutation], batch: Int64?, token: [UInt8])
  /// Ends the stream.
  func close()
}
