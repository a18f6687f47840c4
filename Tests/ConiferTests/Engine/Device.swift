import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree
import ConiferWire
import Dispatch
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Conifer
@testable import ConiferSync

/// A client with files of its own, which may be started again.
final class Device {
  let store: Store
  let directory: String
  let clock = TestClock()
  let queue: DispatchQueue
  var configuration: DatabaseConfiguration
  private(set) var transport: InProcessTransport
  private(set) var engine: Engine
  private(set) var lines = Lines()
  private let server: Server
  private let pump: DeliveryPump
  /// What its store becomes when a process is killed; nil when none is.
  private let mortal: Mortal?
  private let everlasting = Life()
  private var lastListener: UInt64 = 0

  /// What the client was told, in order.
  final class Lines: Sendable {
    private let lines = Gathered<String>()
    private let past = Gathered<String>()

    func add(_ line: String) {
      lines.add(line)
      past.add(line)
    }

    /// What was not taken yet.
    var all: [String] { lines.all }
    /// What came since the beginning.
    var history: [String] { past.all }

    /// What came since the last time.
    func take() -> [String] { lines.take() }
  }

  init(
    _ world: World, _ store: Store, _ directory: String, number: UInt64, isOnline: Bool,
    mortal: Mortal?, _ change: (inout DatabaseConfiguration) -> Void
  ) {
    self.store = store
    self.directory = directory
    self.mortal = mortal
    server = world.server
    pump = world.pump
    queue = DispatchQueue(label: "device \(number)")
    transport = world.server.transport(.manual(world.pump))
    var configuration = DatabaseConfiguration(
      namespace: World.namespace, storage: store.configuration(at: directory), transport: transport)
    configuration.clock = clock
    configuration.housekeeping = .off
    configuration.callbackQueue = .queue(queue)
    configuration.logger.logLevel = .critical
    let random = Mutex(number &* 1000 &+ 1)
    configuration.random = {
      random.withLock { state in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
      }
    }
    if let mortal {
      configuration.storage = mortal.storage
      configuration.options = mortal.storage.options
      configuration.callbackQueue = mortal.callbacks(queue)
    }
    change(&configuration)
    self.configuration = configuration
    engine = Engine(configuration)
    if !isOnline { engine.goOffline() }
    dieWithTransport()
  }

  /// The process that runs.
  var life: Life { mortal?.life ?? everlasting }

  /// Has what is under way lost when the process is killed; the server does not notice.
  private func dieWithTransport() {
    let transport = transport
    mortal?.life.atEnd {
      transport.isReachable = false
      transport.disconnect(serverNotices: false)
    }
  }

  /// Opens the database, with a transport of its own.
  private func start(isOnline: Bool) {
    transport = server.transport(.manual(pump))
    configuration.transport = transport
    if let mortal { configuration.callbackQueue = mortal.callbacks(queue) }
    engine = Engine(configuration)
    if !isOnline { engine.goOffline() }
    dieWithTransport()
  }

  /// Opens the database again after its process was killed.
  func rise(isOnline: Bool) async {
    // The dead one can do nothing any more; closing ends its threads.
    await engine.ask { _ in }
    do { try mortal?.die() } catch { lines.add("the files were not kept: \(error)") }
    await engine.close()
    mortal?.rise()
    _ = lines.take()
    start(isOnline: isOnline)
  }

  /// Closes the database and opens it again, as a new process does.
  func restart(isOnline: Bool = true) async {
    await engine.close()
    if mortal == nil {
      await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }
    _ = lines.take()
    start(isOnline: isOnline)
  }

  /// Returns when the engine has done all it was asked for, and the app has been told.
  func idle() async {
    let signIn = configuration.tokenProvider as? SignIn
    let attestation = configuration.appCheckProvider as? Attestation
    var quiet = mortal == nil ? 0 : 1
    while quiet < 2, !life.isOver {
      let isBusy = await engine.ask { loop in
        loop.durability.isRunning || loop.transactions.machine.running != nil
          || loop.user.questionCount > signIn?.held ?? 0
          || (loop.appTokens.isAsking && attestation?.held ?? 0 == 0)
      }
      if mortal == nil {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
      }
      quiet = isBusy ? 0 : quiet + 1
    }
  }

  /// Has the app make several calls before the engine takes up any of them.
  func atOnce(_ calls: @escaping () -> Void) async {
    // Called before this returns, and by nobody else meanwhile.
    nonisolated(unsafe) let calls = calls
    await engine.ask { _ in calls() }
  }

  // MARK: What the app does

  /// Listens, and notes what it is told under a name.
  ///
  /// - Parameter saysHowWell: whether it is noted too how well it is known.
  @discardableResult
  func listen(
    _ name: String, _ target: QueryTarget, _ kinds: DataEvent.Kinds = .all, isOnce: Bool = false,
    saysHowWell: Bool = false
  ) -> ListenerID {
    lastListener += 1
    let id = ListenerID.app(lastListener)
    let lines = lines
    let event: @Sendable (DataEvent) -> Void = { event in
      let rest = saysHowWell ? ": \(Self.words(event.knowledge))" : ""
      lines.add("\(name) \(Self.line(event))\(rest)")
    }
    let cancel: @Sendable (DatabaseError) -> Void = { lines.add("\(name) cancel \($0.code)") }
    if isOnce {
      engine.observeOnce(id, target, kinds, event: event, cancel: cancel)
    } else {
      engine.observe(id, target, kinds, event: event, cancel: cancel)
    }
    return id
  }

  /// Listens to the value alone.
  func listenToValue(_ name: String, _ target: QueryTarget) {
    listen(name, target, DataEvent.Kinds(.value))
  }

  /// Listens to the value, and notes too how well it is known.
  @discardableResult
  func watch(
    _ name: String, _ target: QueryTarget, _ kinds: DataEvent.Kinds = .init(.value)
  ) -> ListenerID { listen(name, target, kinds, saysHowWell: true) }

  /// How well something is known; times in seconds since the clock began.
  static func words(_ knowledge: ViewKnowledge) -> String {
    let time = knowledge.serverTime.map { "at \(($0 - TestClock.start) / 1000)" } ?? "at no time"
    return [
      knowledge.isCurrent ? "current" : "cached", knowledge.hasPendingWrites ? "pending" : nil,
      knowledge.wasEverComplete ? nil : "in part", time,
    ].compactMap { $0 }.joined(separator: " ")
  }

  private static func line(_ event: DataEvent) -> String {
    let previous = event.previousKey.map { " after \($0)" } ?? ""
    switch event.kind {
    case .value: return "value \(event.node.text)"
    case .childAdded: return "added \(event.key ?? "?") \(event.node.text)\(previous)"
    case .childChanged: return "changed \(event.key ?? "?") \(event.node.text)\(previous)"
    case .childMoved: return "moved \(event.key ?? "?")\(previous)"
    case .childRemoved: return "removed \(event.key ?? "?")"
    }
  }

  @discardableResult
  func set(_ path: Path, _ text: String, _ name: String? = nil) -> WriteReceipt {
    write(.set(path, json(text)), name)
  }

  @discardableResult
  func update(_ path: Path, _ changes: [(Path, String)], _ name: String? = nil) -> WriteReceipt {
    write(
      .update(path, changes.map { NodeChange(path.appending($0.0), json($0.1)) }), name)
  }

  @discardableResult
  func write(_ write: LocalWrite, _ name: String? = nil) -> WriteReceipt {
    guard let name else { return engine.write(write, completion: nil) }
    let lines = lines
    return engine.write(write) { error in
      lines.add("\(name) \(error.map { "\($0.code)" } ?? "done")")
    }
  }

  /// Reads once, and notes the answer under a name.
  ///
  /// - Parameter saysHowWell: whether it is noted too how well it is known.
  func get(
    _ name: String, _ target: QueryTarget, _ policy: ReadPolicy = .default,
    saysHowWell: Bool = false
  ) {
    let lines = lines
    engine.get(target, policy) { result in
      switch result {
      case .success(let known):
        let rest = saysHowWell ? ": \(Self.words(known.knowledge))" : ""
        lines.add("\(name) got \(known.node.text)\(rest)")
      case .failure(let error): lines.add("\(name) \(error.code)")
      }
    }
  }

  /// Adds a number to the one at a path, in a transaction.
  func add(_ number: Int64, at path: Path, _ name: String, raisesLocalEvents: Bool = true) {
    let lines = lines
    engine.transact(
      at: path, raisesLocalEvents: raisesLocalEvents,
      update: { node in
        .write(Node(.integer(Int64(node.leaf?.number ?? 0) + number)))
      },
      completion: { error, isCommitted, known in
        let outcome = error.map { "\($0.code)" } ?? (isCommitted ? "committed" : "aborted")
        lines.add("\(name) \(outcome) \(known.node.text)")
      })
  }

  /// How many writes the store has of the last user who was known, whoever that may be by now. The
  /// engine has done all that was asked of it before, as far as that does not wait.
  func stored() async throws -> Int {
    for _ in 0..<2 { await engine.ask { _ in } }
    let total = await engine.ask { loop in
      loop.lifetime.storage.read { (view, lane) throws(StoreError) in try view.totals(lane) }
    }
    return try #require(total).pending
  }

  /// Returns when so many steps wait to know who is signed in.
  func waits(for count: Int) async throws {
    try await eventually("Fewer than \(count) steps wait to know who is signed in.") {
      await engine.ask { $0.user.waitingCount } >= count
    }
  }

  /// What the writes of the queue ask for, oldest first.
  func queued() async throws -> [PendingWrite] {
    try await engine.writes(after: nil, limit: 1000, rejectedOnly: false)
  }
}

extension Engine {
  /// Asks something between two steps.
  func ask<R: Sendable>(_ question: @escaping @Sendable (EngineLoop) -> R) async -> R {
    await withCheckedContinuation { continuation in
      steps.post(.run { continuation.resume(returning: question($0)) })
    }
  }

  /// The storage; nil when it is not open.
  var backend: (any StorageBackend)? { get async { await ask { $0.lifetime.storage.backend } } }
  /// The lane whose queue lies over the views; nil without storage.
  var lane: Lane? { get async { await ask { $0.lifetime.storage.lane } } }
  /// The listeners of what is pinned.
  var pinListeners: [ListenerID] { get async { await ask { $0.pins.listeners } } }
  /// How many reports of damage it has seen.
  var incidentsSeen: Int { get async { await ask { $0.lifetime.storage.incidentCount } } }
  /// How many writes have ended of which the store was not told.
  var unstoredEnds: Int { get async { await ask { $0.writes.progress.unstoredCount } } }
  /// Whether a listener listens to the server's data.
  func listens(_ id: ListenerID) async -> Bool { await ask { $0.listening.contains(id) } }
}

/// What a device has sent since this was made.
final class Sent: Sendable {
  private let requests = Gathered<Request>()

  init(_ device: Device) {
    device.transport.watch { [requests] delivered in
      guard case .toServer(.request(_, let request)) = delivered else { return }
      requests.add(request)
    }
  }

  var all: [Request] { requests.all }

  /// Where puts and merges went, in order.
  var paths: [Path] {
    all.compactMap { request in
      switch request {
      case .put(let path, _, _), .merge(let path, _): path
      default: nil
      }
    }
  }
}
