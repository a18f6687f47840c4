/// What the API asks of the engine beside ``EngineCalls``: to look at the queue and to change it, and
/// to tell who the client is.
///
/// The engine is `final class Engine: EngineCalls, QueueCalls` with
/// `init(_ configuration: DatabaseConfiguration)`, which opens the configuration's
/// `effectiveStorage` on its own thread and returns at once.
protocol QueueCalls: AnyObject, Sendable {
  /// A window of the current identity's writes in the order of their numbers.
  func writes(
    after number: UInt64?, limit: Int, rejectedOnly: Bool
  ) async throws(DatabaseError) -> [PendingWrite]
  /// What the current identity's queue holds.
  func writeTotals() async throws(DatabaseError) -> PendingWriteTotals
  /// Waits until a write has ended.
  ///
  /// - Throws: `unknownWrite` for one that the store does not know, or no longer.
  func outcome(of id: WriteReceipt.ID) async throws(DatabaseError) -> WriteReceipt.Outcome
  /// Queues a refused write again, in its old place; its values show again.
  func retry(_ id: WriteReceipt.ID) async throws(DatabaseError)
  /// Replaces a refused write by another one, which is queued last.
  func edit(_ id: WriteReceipt.ID, to write: LocalWrite) async throws(DatabaseError) -> WriteReceipt
  /// Gives up a write that is refused, or that was never sent.
  func discard(_ id: WriteReceipt.ID) async throws(DatabaseError)
  /// Who the client is; changes with tokens.
  var authState: StateSource<AuthState> { get }
  /// Whether there is a connection on which the server has said hello.
  var isConnected: StateSource<Bool> { get }
  /// Asks the token provider anew: somebody signed in or out.
  func refreshToken()
  /// Ends all work, makes it durable and closes the store; a second call does nothing.
  func close() async
}

/// All that the API asks of the engine.
typealias DatabaseEngine = EngineCalls & QueueCalls
