import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferFirestore
import ConiferStorage
import ConiferWire
import Dispatch
import Logging
import TestSupport

/// An engine with a scripted server, clock and sign-in, and what the steps of a case do to it.
final class ScenarioClient {
  let server = ScriptedServer()
  let clock = ScriptedClock()
  let signIn = ScriptedSignIn()
  let storage: ScenarioStorage
  private let scratch: Scratch
  let log = ScenarioLog()
  private let backend: ScenarioBackend
  private let limboLimit: Int
  private var engine: FirestoreEngine
  private(set) var isNetworkEnabled = true
  /// Whether the client was shut down, and none has begun since.
  private(set) var isShutdown = false
  private var listeners = ScenarioListeners()
  private var writes = ScenarioWrites()

  init(_ backend: ScenarioBackend, _ options: ScenarioOptions, limboLimit: Int) throws {
    self.backend = backend
    self.limboLimit = limboLimit
    scratch = try Scratch(inMemory: true)
    storage = ScenarioStorage(backend, options, at: scratch.store)
    if options == .usual {
      server.expectDurableTokens { [faults = storage.faults] in faults.survivesPower($0) }
    }
    engine = FirestoreEngine(
      Self.configuration(backend, storage, server, clock, signIn, limboLimit))
  }

  private static func configuration(
    _ backend: ScenarioBackend, _ storage: ScenarioStorage, _ server: ScriptedServer,
    _ clock: ScriptedClock, _ signIn: ScriptedSignIn, _ limboLimit: Int
  ) -> FirestoreConfiguration {
    let database = ScenarioJSON.database
    var configuration = FirestoreConfiguration(
      projectID: database.project, databaseID: database.database, storage: storage.configuration,
      transport: DocumentTransport(server, description: "a script"))
    if backend == .eagerMemory { configuration.cache = .memoryWhileUsed }
    configuration.tokenProvider = signIn
    configuration.clock = clock
    configuration.housekeeping = .off
    configuration.limboLimit = limboLimit
    // In the middle, so that back-off is as long as it says.
    configuration.random = { .max / 2 }
    configuration.callbackQueue = CallbackQueue(queue: .global()) { work in work() }
    configuration.logger.logLevel = .critical
    return configuration
  }

  private var configuration: FirestoreConfiguration {
    Self.configuration(backend, storage, server, clock, signIn, limboLimit)
  }

  // MARK: Time

  /// Lets the engine and the server do what is under way, one thing after the other.
  func waitUntilIdle() async {
    repeat { if !isShutdown { await engine.waitUntilIdle() } } while server.deliver()
  }

  /// What the engine is about; nil once it was shut down.
  func inspect() async -> EngineInspection? { isShutdown ? nil : await engine.inspect() }

  /// The indexes that are declared, in the order of their texts.
  func indexes() async throws -> [String] {
    isShutdown ? [] : try await engine.indexes().map(\.description).sorted()
  }

  /// Ends the engine; what it kept stays.
  func end() async {
    if isShutdown { return }
    isShutdown = true
    await withCheckedContinuation { (ended: CheckedContinuation<Void, Never>) in
      engine.terminate { [log] error in
        log.failed("terminate", error)
        ended.resume()
      }
    }
    while server.deliver() {}
  }

  // MARK: Steps

  /// Does what a step says, and lets all that this brings about happen.
  func perform(_ action: ScenarioAction) async throws {
    if isShutdown, !action.isOfNobody { throw ScenarioError("the client was shut down") }
    switch action {
    case .listen(let query, let target, let options):
      try await listen(query, as: target, options)
    case .unlisten(let query, let target): try await unlisten(query, of: target)
    case .say(let messages):
      for message in messages {
        try server.say(message)
        await waitUntilIdle()
      }
    case .speakOfListen(let index): server.speak(ofListen: index)
    case .closeWatch(let error, let reopens):
      try server.breakWatch(error)
      await waitUntilIdle()
      if reopens { await engine.skipBackoff() }
    case .acknowledge(let time):
      try answer(keepsInQueue: false)
      try server.acknowledge(at: time)
    case .refuse(let error, let keepsInQueue):
      try answer(keepsInQueue: keepsInQueue)
      try server.refuse(error)
      await waitUntilIdle()
      await engine.skipBackoff()
    case .restart: await restart()
    case .shutdown:
      await end()
      listeners.removeAll()
    case .clearPersistence:
      // The reference shuts down who still uses the store.
      await end()
      listeners.removeAll()
      writes = ScenarioWrites()
      try await configuration.wipe()
    case .collectGarbage(let threshold):
      // The reference collects all that it may once there is more than the threshold.
      if try storage.cacheSize() > threshold { try await engine.collectGarbage(downTo: 0) }
    case .runTimer(let timer): await run(timer)
    default: try call(action)
    }
    await waitUntilIdle()
  }

  /// What is asked for and waits for nothing.
  private func call(_ action: ScenarioAction) throws {
    switch action {
    case .write(let mutation):
      let number = writes.add(mutation, of: signIn.user)
      _ = engine.write([mutation]) { [log] in log.ended(number, mutation, $0) }
    case .waitForPendingWrites:
      engine.waitForPendingWrites { [log] in log.pendingWritesEnded($0) }
    case .addInSyncListener:
      engine.listenInSync(listeners.addInSync()) { [log] in log.toldInSync() }
    case .removeInSyncListener:
      guard let id = listeners.removeInSync() else { throw ScenarioError("nobody listens") }
      engine.unlisten(id)
    case .loadBundle(let bytes):
      engine.loadBundle(bytes) { [log] result in
        if case .failure(let error) = result { log.failed("loadBundle", error) }
      }
    case .enableNetwork(let isEnabled):
      isNetworkEnabled = isEnabled
      engine.setNetwork(isEnabled) { [log] in log.failed("setNetwork", $0) }
    case .changeUser(let user):
      signIn.user = user
      engine.tokenDidChange()
    case .failStorage(let actions): storage.faults.fail(actions)
    case .setIndexes(let indexes):
      engine.setIndexes(indexes) { [log] in log.failed("setIndexConfiguration", $0) }
    case .listen, .unlisten, .say, .closeWatch, .acknowledge, .refuse, .restart, .shutdown,
      .clearPersistence,
      .speakOfListen, .collectGarbage, .runTimer, .drainQueue, .nothing:
      break
    }
  }

  private func listen(
    _ query: DocumentQuery, as target: TargetID, _ options: ListenOptions
  ) async throws {
    let id = listeners.add(query, options.source)
    engine.listen(id, query, options) { [log] in log.told(query, $0) }
    await waitUntilIdle()
    try await check(id, options.source, has: target)
  }

  private func unlisten(_ query: DocumentQuery, of target: TargetID) async throws {
    let (id, source) = try listeners.remove(query)
    try await check(id, source, has: target)
    engine.unlisten(id)
  }

  private func check(
    _ id: ListenerID, _ source: ListenOptions.Source, has target: TargetID
  ) async throws(ScenarioError) {
    // A listener of the cache has no target.
    guard source == .default else { return }
    let given = await engine.target(of: id) ?? 0
    if given != target { throw ScenarioError("the target has the number \(given), not \(target)") }
  }

  private func answer(keepsInQueue: Bool) throws {
    try writes.answer(
      signIn.user, sent: server.sent, keepsInQueue: keepsInQueue, isRejected: log.isRejected)
  }

  /// The process dies, so that nothing is stored at its end, and the next one begins.
  private func restart() async {
    storage.faults.setOver(true)
    await end()
    storage.faults.setOver(false)
    listeners.removeAll()
    isNetworkEnabled = true
    server.forgetCounts()
    engine = FirestoreEngine(configuration)
    isShutdown = false
  }

  private func run(_ timer: ScenarioTimer) async {
    switch timer {
    case .onlineState: clock.advance(to: clock.now + 10_000)
    case .watchIdle, .writeIdle: clock.advance(to: clock.now + StreamMachine.idleTime)
    case .watchBackoff, .writeBackoff: await engine.skipBackoff()
    case .all:
      await engine.skipBackoff()
      await waitUntilIdle()
      clock.advance(to: clock.now + StreamMachine.idleTime)
    case .storageRetry:
      // The cases let the timer run out also when nothing is to be done again.
      if let retry = await engine.inspect().retry { clock.advance(to: retry) }
    case .clientMetadata, .collection, .indexing: break
    }
  }
}

extension ScenarioAction {
  /// Whether it can be done without a client.
  fileprivate var isOfNobody: Bool {
    switch self {
    case .restart, .shutdown, .clearPersistence, .drainQueue, .nothing: true
    default: false
    }
  }
}
