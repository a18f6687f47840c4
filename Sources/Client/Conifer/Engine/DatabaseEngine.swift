import ConiferEngine
import ConiferKeyValue
import ConiferQuery
import ConiferSync
import ConiferTree

/// The engine as the API calls it. Calls that do not wait return at once; closures run on the
/// configuration's callback queue, one after the other.
protocol DatabaseEngine: AnyObject, Sendable {
  /// Queues a write; the receipt follows it to the server's answer.
  ///
  /// - completion: called with the server's answer, or with the error that kept the write from being
  ///   queued.
  func write(_ write: LocalWrite, completion: (@Sendable (DatabaseError?) -> Void)?) -> WriteReceipt
  /// Runs a transaction.
  ///
  /// - update: the app's function over the current node; it may run several times.
  /// - completion: the error, whether it was committed, and the node there.
  func transact(
    at path: Path, raisesLocalEvents: Bool,
    update: @escaping @Sendable (Node) -> TransactionMachine.Decision,
    completion: @escaping @Sendable (DatabaseError?, Bool, KnownNode) -> Void)
  /// Begins to listen under a number of the caller's.
  ///
  /// - removed: called at once, on the caller's thread, when `stopObservingAll` ends it.
  func observe(
    _ id: ListenerID, _ target: QueryTarget, _ kinds: DataEvent.Kinds,
    event: @escaping @Sendable (DataEvent) -> Void,
    cancel: (@Sendable (DatabaseError) -> Void)?, removed: (@Sendable () -> Void)?)
  /// Listens until the first event of the kinds.
  func observeOnce(
    _ id: ListenerID, _ target: QueryTarget, _ kinds: DataEvent.Kinds,
    event: @escaping @Sendable (DataEvent) -> Void,
    cancel: (@Sendable (DatabaseError) -> Void)?)
  /// Ends a listener; unknown numbers are ignored. No event of it is delivered after the call
  /// when it is made on the callback queue.
  func stopObserving(_ id: ListenerID)
  /// Ends all listeners of a target; of a default one, all at its path.
  func stopObservingAll(_ target: QueryTarget)
  /// Reads once what a policy asks for.
  func get(
    _ target: QueryTarget, _ policy: ReadPolicy,
    completion: @escaping @Sendable (Result<KnownNode, DatabaseError>) -> Void)
  /// Reads once what the server has, without waiting writes, and keeps nothing of it.
  func getFromServer(
    _ target: QueryTarget, completion: @escaping @Sendable (Result<Node, DatabaseError>) -> Void)
  /// Pins a target, so that it is downloaded and kept; or ends that.
  func setPinned(_ isPinned: Bool, _ target: QueryTarget)
  /// Tells the server what to do when the connection ends.
  func onDisconnect(
    _ operation: DisconnectRequest, completion: (@Sendable (DatabaseError?) -> Void)?)
  /// Connects, and stays connected.
  func goOnline()
  /// Disconnects, until `goOnline`.
  func goOffline()
  /// Discards all waiting and refused writes, transactions and onDisconnects; each is told.
  func purge()
  /// The server's time in milliseconds since 1970, as far as it is known.
  var serverTime: Int64 { get }

  /// What may be asked of the storage, once it is open.
  ///
  /// - Throws: why it will never be open.
  func storage() async throws(DatabaseError) -> StorageQuestions

  /// Tells when the queue or the cache passes a limit, as long as the observation is on.
  func observeUsage(
    _ observation: UsageObservation, _ limits: UsageLimits,
    _ told: @escaping @Sendable (UsageChange) -> Void)
  /// An observation of usage was removed.
  func usageObservationEnded()

  /// Forgets what the cache holds at and below a path, unless something uses it; gives the commit.
  func clear(_ path: Path) async throws(DatabaseError) -> CommitID

  // MARK: The queue, and who is signed in

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
  /// Gives up a write that is not under way to the server.
  func discard(_ id: WriteReceipt.ID) async throws(DatabaseError)
  /// Takes the writes that other processes have left for the user who is signed in.
  func takeMail() async throws(DatabaseError) -> MailReport
  /// Removes the writes that other processes have left for a user; nil for all users.
  func discardMail(of identity: String?) async throws(DatabaseError)
  /// The sign-in state, which changes with tokens.
  var authState: StateSource<AuthState> { get }
  /// Whether there is a connection on which the server has said hello.
  var isConnected: StateSource<Bool> { get }
  /// Asks the token provider anew: somebody signed in or out.
  func refreshToken()
  /// Asks the provider of the app's own tokens anew.
  func refreshAppToken()
  /// Disconnects, makes everything durable and lets go of the store until `resume`.
  nonisolated(nonsending) func suspend() async throws(DatabaseError)
  /// Goes on with the store.
  ///
  /// - Throws: `storageBusy` while another process has the store open; it stays suspended then.
  nonisolated(nonsending) func resume() async throws(DatabaseError)
  /// Waits until no write of the user waits for the server, or until a time in seconds since 1970; gives
  /// what is left.
  func drain(until deadline: Double) async throws(DatabaseError) -> PendingWriteTotals
  /// Ends all work, makes it durable and closes the store; a second call does nothing.
  func close() async
}
