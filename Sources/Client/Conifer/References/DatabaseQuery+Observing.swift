import ConiferQuery
import ConiferSync
import ConiferTree

// Blocks run on the database's callback queue, one after the other.
extension DatabaseQuery {
  /// Observes events of one type: those of what the cache has at once, then changes, until
  /// ``removeObserver(withHandle:)``.
  ///
  /// - Parameters:
  ///   - eventType: what to hear of.
  ///   - block: is given the value, or the child.
  /// - Returns: the observer's number.
  @discardableResult
  public final func observe(
    _ eventType: DataEventType, with block: @escaping (DataSnapshot) -> Void
  ) -> DatabaseHandle {
    listen(eventType, isOnce: false, { snapshot, _ in block(snapshot) }, cancel: nil)
  }

  /// Observes events of one type, and the end of the right to read.
  ///
  /// - Parameters:
  ///   - eventType: what to hear of.
  ///   - block: is given the value, or the child.
  ///   - cancelBlock: called once when the server refuses or no longer allows it, or when the query
  ///     is invalid; no event follows.
  /// - Returns: the observer's number.
  @discardableResult
  public final func observe(
    _ eventType: DataEventType, with block: @escaping (DataSnapshot) -> Void,
    withCancel cancelBlock: ((any Error) -> Void)?
  ) -> DatabaseHandle {
    listen(eventType, isOnce: false, { snapshot, _ in block(snapshot) }, cancel: cancelBlock)
  }

  /// Observes events of one type, with the key of the child before in the query's order.
  ///
  /// - Parameters:
  ///   - eventType: what to hear of.
  ///   - block: is given the child and the key before; nil for the first one, for one that went, and
  ///     for a value.
  /// - Returns: the observer's number.
  @discardableResult
  public final func observe(
    _ eventType: DataEventType,
    andPreviousSiblingKeyWith block: @escaping (DataSnapshot, String?) -> Void
  ) -> DatabaseHandle {
    listen(eventType, isOnce: false, block, cancel: nil)
  }

  /// Observes events of one type, with the key of the child before, and the end of the right to read.
  ///
  /// - Parameters:
  ///   - eventType: what to hear of.
  ///   - block: is given the child and the key before.
  ///   - cancelBlock: called once when the observer ends by an error.
  /// - Returns: the observer's number.
  @discardableResult
  public final func observe(
    _ eventType: DataEventType,
    andPreviousSiblingKeyWith block: @escaping (DataSnapshot, String?) -> Void,
    withCancel cancelBlock: ((any Error) -> Void)?
  ) -> DatabaseHandle {
    listen(eventType, isOnce: false, block, cancel: cancelBlock)
  }

  /// Observes until the first event: that of what the cache has, at once, if it has all.
  ///
  /// - Parameters:
  ///   - eventType: what to hear of.
  ///   - block: is given the value, or the child.
  public final func observeSingleEvent(
    of eventType: DataEventType, with block: @escaping (DataSnapshot) -> Void
  ) {
    listen(eventType, isOnce: true, { snapshot, _ in block(snapshot) }, cancel: nil)
  }

  /// Observes until the first event, or an error.
  ///
  /// - Parameters:
  ///   - eventType: what to hear of.
  ///   - block: is given the value, or the child.
  ///   - cancelBlock: called instead when the observer ends by an error.
  public final func observeSingleEvent(
    of eventType: DataEventType, with block: @escaping (DataSnapshot) -> Void,
    withCancel cancelBlock: ((any Error) -> Void)?
  ) {
    listen(eventType, isOnce: true, { snapshot, _ in block(snapshot) }, cancel: cancelBlock)
  }

  /// Observes until the first event, with the key of the child before.
  ///
  /// - Parameters:
  ///   - eventType: what to hear of.
  ///   - block: is given the child and the key before.
  public final func observeSingleEvent(
    of eventType: DataEventType,
    andPreviousSiblingKeyWith block: @escaping (DataSnapshot, String?) -> Void
  ) {
    listen(eventType, isOnce: true, block, cancel: nil)
  }

  /// Observes until the first event, with the key of the child before, or an error.
  ///
  /// - Parameters:
  ///   - eventType: what to hear of.
  ///   - block: is given the child and the key before.
  ///   - cancelBlock: called instead when the observer ends by an error.
  public final func observeSingleEvent(
    of eventType: DataEventType,
    andPreviousSiblingKeyWith block: @escaping (DataSnapshot, String?) -> Void,
    withCancel cancelBlock: ((any Error) -> Void)?
  ) {
    listen(eventType, isOnce: true, block, cancel: cancelBlock)
  }

  /// Ends an observer of this database; others, also those of children, go on.
  ///
  /// - Parameter handle: what `observe` returned; unknown ones are ignored.
  public final func removeObserver(withHandle handle: DatabaseHandle) {
    engine.stopObserving(ListenerID(handle))
  }

  /// Ends all observers of this query; those of a reference with all queries at its place. Observers
  /// of children go on.
  public final func removeAllObservers() {
    if error == nil { engine.stopObservingAll(target) }
  }

  /// Downloads this and keeps it in the cache, without an observer and across restarts; or ends that.
  ///
  /// - Parameter keepSynced: whether to.
  public final func keepSynced(_ keepSynced: Bool) {
    if let error { return database.report(error) }
    if target.path.first == .info {
      return database.report(
        DatabaseError(.readOnly, "\(target.path) is the client's own: it cannot be kept synced."))
    }
    engine.setPinned(keepSynced, target)
  }

  @discardableResult
  private func listen(
    _ type: DataEventType, isOnce: Bool, _ block: @escaping (DataSnapshot, String?) -> Void,
    cancel: ((any Error) -> Void)?
  ) -> DatabaseHandle {
    let handle = DatabaseHandle.next()
    let cancelled = cancel.map { UserCode<any Error>($0) }
    if let error {
      database.deliver(error) { cancelled?($0) }
      if cancel == nil { database.report(error) }
      return handle
    }
    let user = UserCode<(DataSnapshot, String?)>(block)
    let event: @Sendable (DataEvent) -> Void = { [database] event in
      user((DataSnapshot(database, event), event.previousKey?.string))
    }
    let cancellation: (@Sendable (DatabaseError) -> Void)?
    if let cancelled { cancellation = { cancelled($0) } } else { cancellation = nil }
    let (id, kinds) = (ListenerID(handle), DataEvent.Kinds(type.kind))
    if isOnce {
      engine.observeOnce(id, target, kinds, event: event, cancel: cancellation)
    } else {
      engine.observe(id, target, kinds, event: event, cancel: cancellation, removed: nil)
    }
    return handle
  }
}
