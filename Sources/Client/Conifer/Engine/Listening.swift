import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import Logging

/// Begins and ends listeners of the server's data and of `.info`, the app's and the engine's own. The trees of `Views`
/// and `InfoViews` hold the listeners.
final class Listening {
  /// The last number given to a silent listener.
  private var lastSilent: UInt64 = 0
  private let info: InfoViews
  private let storage: EngineStorage
  private let views: Views
  let listens: ServerListens
  private let logger: Logger

  init(
    _ storage: EngineStorage, _ views: Views, _ listens: ServerListens, _ info: InfoViews,
    _ logger: Logger
  ) {
    self.storage = storage
    self.views = views
    self.listens = listens
    self.info = info
    self.logger = logger
  }

  /// Whether a listener listens to the server's data.
  func contains(_ id: ListenerID) -> Bool { views.tree.contains(id) }

  // MARK: The app's listeners

  /// Begins to listen for the app.
  func observe(_ registration: Registration) {
    let (id, target) = (registration.id, registration.target)
    // Ended before it began.
    guard views.isRegistered(id) else { return }
    if target.path.first == .info, !storage.isClosed {
      return views.raise(info.listen(id, target, registration.kinds))
    }
    if storage.hasEnded { return views.cancel(id, storage.error) }
    listen(id, target, registration.kinds)
  }

  /// Ends all listeners of the app on a target; of a default one, all at its path.
  func stopAll(_ target: QueryTarget) {
    if target.path.first == .info { return views.raise(info.stopAll(target)) }
    apply(views.tree.stopAll(target))
  }

  /// There is a connection, or no longer.
  func connected(_ isConnected: Bool) {
    if !isConnected { views.tree.disconnected() }
    views.raise(info.connected(isConnected))
  }

  /// It became known by how much the server's time is ahead of the device's, in milliseconds.
  func offset(_ milliseconds: Int64) { views.raise(info.offset(milliseconds)) }

  /// The database is closed.
  func close(_ error: DatabaseError) {
    info.close()
    views.cancelAll(error)
  }

  /// What is known of a target in `.info`.
  func info(_ target: QueryTarget) -> Node { info.node(target) }

  // MARK: All listeners

  /// Begins a listener of the engine's own.
  func listenSilently(_ target: QueryTarget) -> ListenerID {
    let id = takeSilentID()
    listen(id, target, [])
    return id
  }

  /// The next listener of the engine's own, which does not listen yet.
  func takeSilentID() -> ListenerID {
    lastSilent += 1
    return .silent(lastSilent)
  }

  /// Opens a view, or adds a listener to one, with what waits in the queue over it.
  func listen(_ id: ListenerID, _ target: QueryTarget, _ kinds: DataEvent.Kinds) {
    guard !contains(id) else { return }
    views.showQueue(touching: target.path)
    let result: SyncResult
    do throws(StoreError) {
      result = try views.tree.listen(id, to: target, kinds: kinds)
    } catch {
      logger.error(
        "a listener could not begin", metadata: ["target": "\(target)", "cause": "\(error)"])
      return views.cancel(id, DatabaseError(error, "The cache of \(target) could not be read"))
    }
    apply(result)
  }

  /// Ends a listener, silent ones too.
  func stop(_ id: ListenerID) {
    if info.contains(id) { return views.raise(info.stop(id)) }
    apply(views.tree.stop(id))
  }

  /// The server no longer allows a listen: its listeners end with an error.
  ///
  /// - Returns: those that ended.
  func cancel(_ target: QueryTarget, _ error: DatabaseError) -> [ListenerID] {
    let (ended, result) = views.tree.cancel(target)
    listens.forget(target.normalized)
    for id in ended { views.cancel(id, error) }
    apply(result)
    return ended
  }

  /// Does what a step of the views asks for.
  private func apply(_ result: SyncResult) {
    for listen in result.started { listens.start(listen) }
    for listen in result.stopped { listens.end(listen) }
    views.raise(result)
  }
}

// MARK: - What the app asks for

extension Engine {
  /// Begins to listen.
  func observe(
    _ id: ListenerID, _ target: QueryTarget, _ kinds: DataEvent.Kinds,
    event: @escaping @Sendable (DataEvent) -> Void,
    cancel: (@Sendable (DatabaseError) -> Void)?, removed: (@Sendable () -> Void)? = nil
  ) {
    begin(
      Registration(
        id, target, kinds, isOnce: false, event: event, cancel: cancel, removed: removed))
  }

  /// Listens until the first event.
  func observeOnce(
    _ id: ListenerID, _ target: QueryTarget, _ kinds: DataEvent.Kinds,
    event: @escaping @Sendable (DataEvent) -> Void,
    cancel: (@Sendable (DatabaseError) -> Void)?
  ) {
    begin(Registration(id, target, kinds, isOnce: true, event: event, cancel: cancel))
  }

  private func begin(_ registration: Registration) {
    registrations.add(registration)
    steps.post(.observe(registration))
  }

  /// Ends a listener.
  func stopObserving(_ id: ListenerID) {
    registrations.end(id)
    steps.post(.stopObserving(id))
  }

  /// Ends all listeners of a target; of a default one, all at its path.
  func stopObservingAll(_ target: QueryTarget) {
    registrations.endAll(target)
    steps.post(.stopObservingAll(target))
  }
}
