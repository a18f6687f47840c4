import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import Synchronization

extension Engine: EngineCalls {
  /// Queues a write.
  nonisolated func write(
    _ write: LocalWrite, completion: (@Sendable (DatabaseError?) -> Void)?
  ) -> WriteReceipt {
    if case .update(_, let changes) = write, changes.isEmpty {
      if let completion { post(.ask { $0.outbox.append { completion(nil) } }) }
      return .nothing(setup.options.durability.wanted)
    }
    let receipt = WriteReceipt()
    post(.write(write, WriteCaller(receipt: receipt, completion: completion)))
    return receipt
  }

  /// Runs a transaction.
  nonisolated func transact(
    at path: Path, raisesLocalEvents: Bool,
    update: @escaping @Sendable (Node) -> TransactionMachine.Decision,
    completion: @escaping @Sendable (DatabaseError?, Bool, Node) -> Void
  ) {
    post(
      .transact(
        TransactionRequest(
          path: path, raisesLocalEvents: raisesLocalEvents, update: update, completion: completion))
    )
  }

  /// Begins to listen.
  nonisolated func observe(
    _ id: ListenerID, _ target: QueryTarget, _ kinds: DataEvent.Kinds,
    event: @escaping @Sendable (DataEvent) -> Void,
    cancel: (@Sendable (DatabaseError) -> Void)?, removed: (@Sendable () -> Void)? = nil
  ) {
    begin(
      Registration(
        id, target, kinds, isOnce: false, event: event, cancel: cancel, removed: removed))
  }

  /// Listens until the first event.
  nonisolated func observeOnce(
    _ id: ListenerID, _ target: QueryTarget, _ kinds: DataEvent.Kinds,
    event: @escaping @Sendable (DataEvent) -> Void,
    cancel: (@Sendable (DatabaseError) -> Void)?
  ) {
    begin(Registration(id, target, kinds, isOnce: true, event: event, cancel: cancel))
  }

  private nonisolated func begin(_ registration: Registration) {
    registrations.add(registration)
    post(.observe(registration))
  }

  /// Ends a listener.
  nonisolated func stopObserving(_ id: ListenerID) {
    // Numbers beyond are those of the engine's own listeners.
    guard id.rawValue < Self.firstSilent else { return }
    registrations.end(id)
    post(.stop(id))
  }

  /// Ends all listeners of a target; of a default one, all at its path.
  nonisolated func stopObservingAll(_ target: QueryTarget) {
    registrations.endAll(target)
    post(.stopAll(target))
  }

  /// Reads once.
  nonisolated func get(
    _ target: QueryTarget, completion: @escaping @Sendable (Result<Node, DatabaseError>) -> Void
  ) {
    post(.get(GetRequest(target: target, issued: setup.clock.now, completion: completion)))
  }

  /// Pins a target, or ends that.
  nonisolated func setPinned(_ isPinned: Bool, _ target: QueryTarget) {
    post(.pin(isPinned, target))
  }

  /// Tells the server what to do when the connection ends.
  nonisolated func onDisconnect(
    _ operation: DisconnectRequest, completion: (@Sendable (DatabaseError?) -> Void)?
  ) {
    post(.onDisconnect(operation, completion))
  }

  /// Connects, and stays connected.
  nonisolated func goOnline() {
    isAway.store(false, ordering: .relaxed)
    post(.tell(.open(.offline)))
  }

  /// Disconnects, until `goOnline`.
  nonisolated func goOffline() {
    isAway.store(true, ordering: .relaxed)
    post(.tell(.close(.offline)))
  }

  /// Discards all waiting writes, transactions and onDisconnects.
  nonisolated func purge() { post(.purge) }
}
