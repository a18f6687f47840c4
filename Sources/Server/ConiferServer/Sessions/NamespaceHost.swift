import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferTree
import ConiferWire
import Dispatch
import Logging
import Synchronization

/// Runs one namespace: passes inputs to the state machine, one at a time, and carries out its
/// outputs.
final class NamespaceHost: Sendable {
  typealias Receiver = @Sendable (TransportEvent) -> Void

  private struct State: Sendable {
    var machine: Namespace
    var receivers: [SessionID: Receiver] = [:]
    /// The receivers of ended sessions, until the ends are handled: their memory counts until then.
    var ending: [SessionID: Receiver] = [:]
    var answers: [UInt64: @Sendable (Response) -> Void] = [:]
    var performers: [UInt64: @Sendable (ServerAnswer) -> Void] = [:]
    var lastSession: UInt64 = 0
    var lastCall: UInt64 = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
    /// The tree that keeps the data; nil before there is one.
    var tree: TreeID?
    /// The time of the next tick.
    var due: Int64?
    var timer: Timer?
    /// Whether the server has dropped it: later requests go to a new host of its name.
    var isRetired = false
  }

  /// Where writes are kept.
  struct Store: Sendable {
    let backend: any StorageBackend
    /// The name of the tree, which the first write creates.
    let name: String
    let tree: TreeID?
    let durability: Durability
    /// What keeps the store tidy; nil when nothing does.
    let housekeeping: HousekeepingRunner?
  }

  private let configuration: ServerConfiguration
  private let store: Store?
  private let state: Mutex<State>

  /// - Parameter disconnects: the memory of the onDisconnect operations of all the server's
  ///   sessions.
  init(
    _ configuration: ServerConfiguration, rules: any AccessRules, root: Node = .empty,
    store: Store? = nil, disconnects: MemoryBudget? = nil
  ) {
    self.configuration = configuration
    self.store = store
    state = Mutex(
      State(
        machine: Namespace(
          root: root, isStored: store != nil,
          storesDisconnects: configuration.keepsDisconnects, rules: rules,
          authenticator: configuration.authenticator, limits: configuration.limits,
          disconnects: disconnects),
        tree: store?.tree))
  }

  /// The present data.
  var root: Node { state.withLock { $0.machine.root } }

  /// The present rules.
  var rules: any AccessRules { state.withLock { $0.machine.rules } }

  /// The names of the live sessions, oldest first.
  var sessions: [String] {
    state.withLock { state in
      state.machine.sessions.sorted { $0.key < $1.key }.map(\.value.name)
    }
  }

  /// The present data, and how often it changed so far.
  var moment: (root: Node, changes: Int) {
    state.withLock { ($0.machine.root, $0.machine.traffic.changes) }
  }

  func report(_ name: String, _ limits: InspectionLimits) -> NamespaceReport {
    let now = configuration.clock.now
    return state.withLock { $0.machine.report(name, limits, now: now) }
  }

  /// Retires the host, if nobody uses it and nothing would be lost; then it may be dropped.
  func retire() -> Bool {
    state.withLock { state in
      if state.machine.isUnused { state.isRetired = true }
      return state.isRetired
    }
  }

  /// - Returns: nil when the host is retired, like all calls that change something.
  func connect(
    host: String?, lastSession: String?, _ receive: @escaping Receiver
  ) -> ServerSession? {
    state.withLock { state in
      if state.isRetired { return nil }
      state.lastSession += 1
      let id = SessionID(rawValue: state.lastSession)
      // A client that knows a session's name may end the session.
      let name = "\(id.rawValue)-" + String(UInt64.random(in: .min ... .max), radix: 36)
      state.receivers[id] = receive
      let host = host ?? configuration.host
      run(.connect(id, name: name, host: host, lastSession: lastSession), &state)
      return ServerSession(name: name, id: id, host: self)
    }
  }

  @discardableResult
  func handle(_ input: Namespace.Input) -> Void? {
    state.withLock { state -> Void? in
      if state.isRetired { return nil }
      return run(input, &state)
    }
  }

  func end(_ id: SessionID) {
    state.withLock { state in
      state.ending[id] = state.receivers.removeValue(forKey: id) ?? state.ending[id]
      run(.end(id), &state)
    }
  }

  /// Writes as the server itself; the answer comes before this returns, unless it waits for a
  /// commit.
  func call(_ changes: [NodeChange], _ answer: @escaping @Sendable (Response) -> Void) -> Void? {
    state.withLock { state -> Void? in
      if state.isRetired { return nil }
      state.lastCall += 1
      state.answers[state.lastCall] = answer
      return run(.call(state.lastCall, changes), &state)
    }
  }

  /// Sets rules once they are stored.
  func storeRules(
    _ rules: SecurityRules, _ answer: @escaping @Sendable (Response) -> Void
  ) -> Void? {
    state.withLock { state -> Void? in
      if state.isRetired { return nil }
      state.lastCall += 1
      state.answers[state.lastCall] = answer
      return run(.storeRules(state.lastCall, rules), &state)
    }
  }

  /// Takes what an earlier server left; its sessions end.
  func restore(_ kept: KeptRecords) {
    state.withLock { state in
      let sessions = kept.sessions.map { session in
        state.lastSession += 1
        return (SessionID(rawValue: state.lastSession), session)
      }
      run(.restore(rules: kept.storedRules, sessions), &state)
    }
  }

  /// Performs a request without a session: reads at once, writes after their commit.
  func perform(_ request: Request, as token: VerifiedToken?, limit: Int?) async -> ServerAnswer? {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        if state.isRetired { return continuation.resume(returning: nil) }
        state.lastCall += 1
        state.performers[state.lastCall] = { continuation.resume(returning: $0) }
        run(.perform(state.lastCall, request, token, limit: limit), &state)
      }
    }
  }

  /// Reads as a token's user, without waiting for writes that are being stored.
  func read(_ target: QueryTarget, as token: VerifiedToken?) -> Response {
    let now = configuration.clock.now
    var (response, root) = state.withLock { state in
      state.machine.traffic.count(.get(target))
      let admission = state.machine.admit(target, as: token, now: now)
      carryOut(state.machine.takeOutputs(), &state)
      return admission
    }
    // The search runs outside of the lock, so that nobody waits for it.
    if response.status == .ok { response.node = target.spec.filtered(root[target.path]) }
    state.withLock { [response] in $0.machine.traffic.count(.response(0, response)) }
    return response
  }

  /// Returns when no write waits for a commit.
  func waitUntilIdle() async {
    await withCheckedContinuation { continuation in
      let isSettled = state.withLock { state in
        if !state.machine.isSettled { state.waiters.append(continuation) }
        return state.machine.isSettled
      }
      if isSettled { continuation.resume() }
    }
  }

  /// Handles an input and carries out the outputs. Receivers only queue messages, so they may be
  /// called under the lock, which keeps one order for everybody.
  private func run(_ input: Namespace.Input, _ state: inout State) {
    carryOut(state.machine.handle(input, now: configuration.clock.now), &state)
    guard state.machine.isSettled else { return }
    for waiter in state.waiters { waiter.resume() }
    state.waiters = []
  }

  private func carryOut(_ outputs: [Namespace.Output], _ state: inout State) {
    for output in outputs {
      switch output {
      case .send(let id, let message): state.receivers[id]?(.message(message))
      case .close(let id, let reason):
        guard let receive = state.receivers.removeValue(forKey: id) else { continue }
        state.ending[id] = receive
        receive(.closed(reason))
      case .ended(let id): state.ending[id] = nil
      case .answer(let number, let response): state.answers.removeValue(forKey: number)?(response)
      case .performed(let number, let response, let written):
        let answer = ServerAnswer(response, written: written)
        state.performers.removeValue(forKey: number)?(answer)
      case .commit(let changes, let records): commit(changes, records, state.tree)
      case .wake(let time): wake(at: time, &state)
      case .log(let words): configuration.logger.warning("\(words)")
      case .note(let words): configuration.logger.debug("\(words)")
      }
    }
  }

  private func commit(_ changes: [NodeChange], _ records: [ServerRecord], _ known: TreeID?) {
    guard let store else { return }
    store.housekeeping?.commitBegan()
    Task {
      defer { store.housekeeping?.commitEnded(edits: changes.count + records.count) }
      do throws(StoreError) {
        var tree = known
        if tree == nil { tree = try await store.backend.tree(named: store.name) }
        guard let tree else { return }
        state.withLock { $0.tree = tree }
        let edits =
          changes.map { StorageEdit.overwrite(tree, $0.path, $0.node) }
          + records.map { .setMetadata(tree, $0.name, $0.bytes) }
        _ = try await store.backend.commit(edits, store.durability)
        handle(.committed(nil))
      } catch {
        handle(.committed(error))
      }
    }
  }

  // MARK: Time

  /// Schedules a tick at a time or earlier; only the earliest time has a timer.
  private func wake(at time: Int64, _ state: inout State) {
    // A stopped clock is moved by hand, and `tick()` is called then.
    if configuration.clock.isStopped { return }
    if let due = state.due, due <= time { return }
    state.due = time
    let timer = state.timer ?? Timer { [weak self] in self?.fire() }
    state.timer = timer
    schedule(timer, time)
  }

  private func schedule(_ timer: Timer, _ time: Int64) {
    // At most a day at once; a later tick is scheduled again then.
    timer.schedule(after: min(max(0, time &- configuration.clock.now), 86_400_000))
  }

  private func fire() {
    state.withLock { state in
      guard let due = state.due, let timer = state.timer else { return }
      if configuration.clock.now < due { return schedule(timer, due) }
      state.due = nil
      run(.tick, &state)
    }
  }
}
