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
  private let resumptions = Resumptions()

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
    steps.post(.takeMail(MailTaking()))
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
    steps.post(.run { $0.goOffline() })
  }

  /// Discards all waiting and refused writes, transactions and onDisconnects.
  func purge() { steps.post(.purge) }

  /// Asks the token provider anew.
  func refreshToken() { steps.post(.refreshToken) }

  /// Asks the provider of the app's own tokens anew.
  func refreshAppToken() { steps.post(.tellConnection(.refreshAppToken)) }

  /// Lets go of the store until `resume`.
  nonisolated(nonsending) func suspend() async throws(DatabaseError) {
    let before = resumptions.number
    if setup.localAuthority != nil { await handOver() }
    try await finish { [steps, resumptions] done in
      // Otherwise the database would be suspended behind a call that resumes it.
      if !resumptions.suspend(since: before, { steps.post(.suspend(done)) }) { done(nil) }
    }
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
  nonisolated(nonsending) func resume() async throws(DatabaseError) {
    try await finish { [steps, resumptions] done in
      resumptions.resume { steps.post(.resume(done)) }
    }
    steps.post(.takeMail(MailTaking()))
  }

  /// Takes the writes that other processes have left.
  func takeMail() async throws(DatabaseError) -> MailReport {
    let report = Promise<MailReport>()
    steps.post(.takeMail(MailTaking { report.resolve($0) }))
    return try await report.value()
  }

  /// Removes writes that other processes have left.
  func discardMail(of identity: String?) async throws(DatabaseError) {
    let done = Promise<Void>()
    steps.post(
      .run { loop in
        done.resolve(
          Result { () throws(DatabaseError) in try loop.mailRemoval.discard(of: identity) })
      })
    try await done.value()
  }

  private nonisolated(nonsending) func finish(
    _ post: (@escaping @Sendable (DatabaseError?) -> Void) -> Void
  ) async throws(DatabaseError) {
    let error = await withCheckedContinuation { continuation in
      post { continuation.resume(returning: $0) }
    }
    if let error { throw error }
  }

  /// What may be asked of the storage, once it is open.
  func storage() async throws(DatabaseError) -> StorageQuestions {
    let found = Promise<StorageQuestions>()
    steps.post(
      .run { loop in
        found.resolve(
          Result { () throws(DatabaseError) in try StorageQuestions(loop.lifetime.storage) })
      })
    return try await found.value()
  }

  /// Tells when the queue or the cache passes a limit.
  func observeUsage(
    _ observation: UsageObservation, _ limits: UsageLimits,
    _ told: @escaping @Sendable (UsageChange) -> Void
  ) { steps.post(.run { $0.usage.begin(observation, limits, told) }) }

  /// An observation of usage was removed.
  func usageObservationEnded() { steps.post(.run { $0.usage.removeEnded() }) }

  /// Waits until no write of the user waits for the server, or until a time.
  func drain(until deadline: Double) async throws(DatabaseError) -> PendingWriteTotals {
    let drain = QueueDrain()
    steps.post(
      .run { loop in
        loop.drains.begin(drain)
        if loop.lifetime.storage.hasEnded { loop.drains.endAll(loop.requests.left) }
      })
    let end: @Sendable () -> Void = { [weak steps] in
      steps?.post(.run { loop in loop.drains.end(drain, loop.requests.left) })
    }
    if let alarm = setup.clock.moment(of: deadline) { setup.clock.wake(at: alarm, end) }
    return try await drain.left(orEnd: end)
  }

  /// Ends all work, makes it durable and closes the store.
  func close() async {
    await handOver()
    await withCheckedContinuation { continuation in steps.post(.close { continuation.resume() }) }
  }
}
