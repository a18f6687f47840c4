import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree

/// A local write as the API hands it over: checked, with server values unresolved and paths from the
/// root.
enum LocalWrite: Sendable {
  /// Replaces one node; a last segment `.priority` sets a priority alone.
  case set(Path, Node)
  /// Replaces several nodes at once, all or none; the path is the one that the app named.
  case update(Path, [NodeChange])

  /// What is queued of it.
  func content(time: Int64) -> WriteContent {
    switch self {
    case .set(let path, let node): .set(path, node, time: time)
    case .update(let path, let changes):
      WriteContent(kind: .update, path: path, changes: changes, time: time)
    }
  }
}

/// What the API asks of the engine. Every call returns at once; closures run on the configuration's
/// callback queue, one after the other.
protocol EngineCalls: AnyObject, Sendable {
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
    completion: @escaping @Sendable (DatabaseError?, Bool, Node) -> Void)
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
  /// Reads once: from the server, or what the cache has completely.
  func get(
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
  /// Discards all waiting writes, transactions and onDisconnects; each is told.
  func purge()
  /// The server's time in milliseconds since 1970, as far as it is known.
  var serverTime: Int64 { get }
}
