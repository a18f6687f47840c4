import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import Synchronization

/// The engine behind a database: storage, views, connection and callbacks, joined on one thread.
///
/// Whatever is asked of it, and whatever the server says, is a step; one step ends before the next one begins, so that
/// none sees half of another's effects. Writes that follow one another share a commit, and so do messages of the
/// server; any other step first commits what waits.
actor Engine {
  nonisolated let setup: DatabaseConfiguration
  nonisolated let registrations = Registrations()
  /// Who the client is; changes with tokens.
  nonisolated let authState = StateSource(AuthState.signedOut)
  /// Whether there is a connection on which the server has said hello.
  nonisolated let isConnected = StateSource(false)
  nonisolated let clock: ServerClock
  private nonisolated let thread = EngineThread()
  private nonisolated let inbox = Inbox<Step>()
  /// Whether the app went offline, maybe before the storage was open.
  private nonisolated let isAway = Atomic(false)
  /// What does the steps; made by the first one.
  private(set) lazy var loop = EngineLoop(self)

  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  /// An engine that opens its storage at once, on its own thread.
  init(_ configuration: DatabaseConfiguration) {
    setup = configuration
    clock = ServerClock(configuration.clock)
    post(.open { [weak self] in self?.isAway.load(ordering: .relaxed) ?? false })
  }

  /// Asks for a step; returns at once.
  nonisolated func post(_ step: Step) {
    guard inbox.add(step) else { return }
    Task(executorPreference: thread) { await self.work() }
  }

  /// Does the steps there are, until there are none.
  private func work() async {
    while let steps = inbox.take() {
      for step in steps { await loop.perform(step) }
      loop.drain()
    }
  }

  /// Makes commits durable beside the steps, until nobody waits for that.
  nonisolated func harden(_ backend: any StorageBackend) {
    Task(executorPreference: thread) { await self.runDurability(backend) }
  }

  private func runDurability(_ backend: any StorageBackend) async {
    await loop.writes.durability.run(backend)
  }
}

extension Engine: DatabaseEngine {
  /// The server's time in milliseconds since 1970, as far as it is known.
  nonisolated var serverTime: Int64 { clock.serverTime }

  /// Queues a write.
  nonisolated func write(
    _ write: LocalWrite, completion: (@Sendable (DatabaseError?) -> Void)?
  ) -> WriteReceipt {
    if case .update(_, let changes) = write, changes.isEmpty {
      if let completion { post(.run { $0.outbox.addCall { completion(nil) } }) }
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
    registrations.end(id)
    post(.stopObserving(id))
  }

  /// Ends all listeners of a target; of a default one, all at its path.
  nonisolated func stopObservingAll(_ target: QueryTarget) {
    registrations.endAll(target)
    post(.stopObservingAll(target))
  }

  /// Reads once.
  nonisolated func get(
    _ target: QueryTarget, completion: @escaping @Sendable (Result<Node, DatabaseError>) -> Void
  ) {
    post(.get(GetRequest(target: target, issued: setup.clock.now, completion: completion)))
  }

  /// Pins a target, or ends that.
  nonisolated func setPinned(_ isPinned: Bool, _ target: QueryTarget) {
    post(.pin(target, isPinned: isPinned))
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
    post(.tellConnection(.reasonEnded(.offline)))
  }

  /// Disconnects, until `goOnline`.
  nonisolated func goOffline() {
    isAway.store(true, ordering: .relaxed)
    post(.tellConnection(.reasonBegan(.offline)))
  }

  /// Discards all waiting and refused writes, transactions and onDisconnects.
  nonisolated func purge() { post(.purge) }
}

// MARK: The queue, and who is signed in

extension Engine {
  /// Asks something about the user's queue between two steps, and waits for the reply; also until it is
  /// known who is signed in, while the token provider is asked.
  private nonisolated func asking<R: Sendable>(
    isChange: Bool = false,
    _ question:
      @escaping @Sendable (QueueRequests, @escaping QueueRequests.Reply<R>) throws(DatabaseError) ->
      Void
  ) async throws(DatabaseError) -> R {
    let result: Result<R, DatabaseError> = await withCheckedContinuation { continuation in
      post(
        .useQueue(isChange: isChange) { loop in
          do throws(DatabaseError) {
            try question(loop.requests) { continuation.resume(returning: $0) }
          } catch {
            continuation.resume(returning: .failure(error))
          }
        })
    }
    return try result.get()
  }

  /// A window of the current identity's writes in the order of their numbers.
  nonisolated func writes(
    after number: UInt64?, limit: Int, rejectedOnly: Bool
  ) async throws(DatabaseError) -> [PendingWrite] {
    try await asking { requests, reply in
      reply(requests.list(after: number, limit: limit, rejectedOnly: rejectedOnly))
    }
  }

  /// What the current identity's queue holds.
  nonisolated func writeTotals() async throws(DatabaseError) -> PendingWriteTotals {
    try await asking { requests, reply in reply(requests.totals()) }
  }

  /// Waits until a write has ended.
  nonisolated func outcome(
    of id: WriteReceipt.ID
  ) async throws(DatabaseError) -> WriteReceipt.Outcome {
    let receipt = WriteReceipt()
    let known: WriteReceipt.Outcome? = try await asking { requests, reply in
      reply(requests.outcome(of: id, receipt))
    }
    guard let known else { return try await receipt.outcome }
    if case .failed(let error) = known { throw error }
    return known
  }

  /// Queues a refused write again, in its old place.
  nonisolated func retry(_ id: WriteReceipt.ID) async throws(DatabaseError) {
    try await asking(isChange: true) { (requests, reply) throws(DatabaseError) in
      try requests.retry(id, reply)
    }
  }

  /// Replaces a refused write by another one, which is queued last.
  nonisolated func edit(
    _ id: WriteReceipt.ID, to new: LocalWrite
  ) async throws(DatabaseError) -> WriteReceipt {
    try await asking(isChange: true) { (requests, reply) throws(DatabaseError) in
      try requests.edit(id, to: new, reply)
    }
  }

  /// Gives up a write that is not under way to the server.
  nonisolated func discard(_ id: WriteReceipt.ID) async throws(DatabaseError) {
    try await asking(isChange: true) { (requests, reply) throws(DatabaseError) in
      try requests.discard(id, reply)
    }
  }

  /// Asks the token provider anew.
  nonisolated func refreshToken() { post(.refreshToken) }

  /// Ends all work, makes it durable and closes the store.
  nonisolated func close() async {
    await withCheckedContinuation { continuation in post(.close { continuation.resume() }) }
  }
}
