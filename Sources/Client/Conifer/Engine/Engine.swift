import ConiferEngine
import ConiferSync
import Synchronization

/// The engine behind a database: storage, views, connection and callbacks, joined on one thread.
///
/// Whatever is asked of it, and whatever the server says, is a step; one step ends before the next one begins, so that
/// none sees half of another's effects. Writes that follow one another share a commit, and so do messages of the
/// server; any other step first commits what waits. What the app may ask of it stands beside the part that does it.
final class Engine: DatabaseEngine {
  let setup: DatabaseConfiguration
  let registrations: Registrations
  /// The sign-in state, which changes with tokens.
  let authState: StateSource<AuthState>
  /// Whether there is a connection on which the server has said hello.
  let isConnected: StateSource<Bool>
  let clock: ServerClock
  let steps: StepQueue<EngineLoop>
  /// Whether the app went offline, maybe before the storage was open.
  private let isAway = Atomic(false)

  /// An engine that opens its storage at once, on its own thread.
  init(_ configuration: DatabaseConfiguration) {
    let registrations = Registrations()
    let (authState, isConnected) = (StateSource(AuthState.signedOut), StateSource(false))
    let clock = ServerClock(configuration.clock)
    let authority = configuration.localAuthority?(configuration)
    var setup = configuration
    if let authority { setup.transport = authority }
    self.setup = setup
    self.registrations = registrations
    self.authState = authState
    self.isConnected = isConnected
    self.clock = clock
    steps = StepQueue { [setup] steps in
      EngineLoop(setup, authority, steps, registrations, authState, isConnected, clock)
    }
    steps.post(.open { self.isAway.load(ordering: .relaxed) })
  }

  /// The server's time in milliseconds since 1970, as far as it is known.
  var serverTime: Int64 { clock.serverTime }

  /// Connects, and stays connected.
  func goOnline() {
    isAway.store(false, ordering: .relaxed)
    steps.post(.tellConnection(.reasonEnded(.offline)))
  }

  /// Disconnects, until `goOnline`.
  func goOffline() {
    isAway.store(true, ordering: .relaxed)
    steps.post(.tellConnection(.reasonBegan(.offline)))
  }

  /// Discards all waiting and refused writes, transactions and onDisconnects.
  func purge() { steps.post(.purge) }

  /// Asks the token provider anew.
  func refreshToken() { steps.post(.refreshToken) }

  /// Asks the provider of the app's own tokens anew.
  func refreshAppToken() { steps.post(.tellConnection(.refreshAppToken)) }

  /// Lets go of the store until `resume`.
  func suspend() async throws(DatabaseError) {
    await handOver()
    try await finish { .suspend($0) }
  }

  /// Waits until the authority of a database without a server has what was written: the queue is in memory.
  private func handOver() async {
    guard setup.localAuthority != nil else { return }
    await withCheckedContinuation { continuation in
      steps.post(.handOver { continuation.resume() })
    }
    if isAway.load(ordering: .relaxed) { goOffline() }
  }

  /// Goes on with the store.
  func resume() async throws(DatabaseError) { try await finish { .resume($0) } }

  private func finish(
    _ step: (@escaping @Sendable (DatabaseError?) -> Void) -> Step
  ) async throws(DatabaseError) {
    let error = await withCheckedContinuation { continuation in
      steps.post(step { continuation.resume(returning: $0) })
    }
    if let error { throw error }
  }

  /// What may be asked of the storage, once it is open.
  func storage() async throws(DatabaseError) -> StorageQuestions {
    let found: Result<StorageQuestions, DatabaseError> = await withCheckedContinuation {
      continuation in
      steps.post(
        .run { loop in
          continuation.resume(
            returning: Result { () throws(DatabaseError) in
              try StorageQuestions(loop.lifetime.storage)
            })
        })
    }
    return try found.get()
  }

  /// Waits until no write of the user waits for the server, or until a time.
  func drain(until deadline: Double) async throws(DatabaseError) -> PendingWriteTotals {
    let clock = setup.clock
    let alarm = clock.moment(of: deadline)
    let post: @Sendable (Step) -> Void = { [weak steps] in steps?.post($0) }
    let result: Result<PendingWriteTotals, DatabaseError> = await withCheckedContinuation {
      continuation in
      steps.post(
        .useQueue(isChange: false) { loop in
          let number = loop.drains.begin { continuation.resume(returning: $0) }
          if loop.lifetime.storage.hasEnded { return loop.drains.endAll(loop.requests.totals) }
          guard let alarm else { return }
          clock.wake(at: alarm) {
            post(.run { loop in loop.drains.end(number, loop.requests.totals) })
          }
        })
    }
    return try result.get()
  }

  /// Ends all work, makes it durable and closes the store.
  func close() async {
    await handOver()
    await withCheckedContinuation { continuation in steps.post(.close { continuation.resume() }) }
  }
}
