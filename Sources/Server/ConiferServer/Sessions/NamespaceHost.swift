import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferTree
import ConiferWire
import Dispatch
import Logging
import Synchronization

/// Runs one namespace: hands inputs to the state machine, one at a time, and does what it says.
final class NamespaceHost: Sendable {
  typealias Receiver = @Sendable (TransportEvent) -> Void

  private struct State: Sendable {
    var machine: Namespace
    var receivers: [SessionID: Receiver] = [:]
    var answers: [UInt64: @Sendable (Response) -> Void] = [:]
    var lastSession: UInt64 = 0
    var lastCall: UInt64 = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  /// Where writes are kept.
  struct Store: Sendable {
    let backend: any StorageBackend
    let tree: TreeID
    let durability: Durability
  }

  private let configuration: ServerConfiguration
  private let store: Store?
  private let state: Mutex<State>

  init(_ configuration: ServerConfiguration, root: Node = .empty, store: Store? = nil) {
    self.configuration = configuration
    self.store = store
    state = Mutex(
      State(
        machine: Namespace(
          root: root, isStored: store != nil, rules: configuration.rules,
          authenticator: configuration.authenticator, limits: configuration.limits)))
  }

  /// The data as it is.
  var root: Node { state.withLock { $0.machine.root } }

  /// The names of the live sessions, oldest first.
  var sessions: [String] {
    state.withLock { state in
      state.machine.sessions.sorted { $0.key < $1.key }.map(\.value.name)
    }
  }

  func connect(host: String?, lastSession: String?, _ receive: @escaping Receiver) -> ServerSession
  {
    state.withLock { state in
      state.lastSession += 1
      let id = SessionID(rawValue: state.lastSession)
      // Whoever knows the name of a session may end it.
      let name = "\(id.rawValue)-" + String(UInt64.random(in: .min ... .max), radix: 36)
      state.receivers[id] = receive
      let host = host ?? configuration.host
      run(.connect(id, name: name, host: host, lastSession: lastSession), &state)
      return ServerSession(name: name, id: id, host: self)
    }
  }

  func handle(_ input: Namespace.Input) { state.withLock { run(input, &$0) } }

  func end(_ id: SessionID) {
    state.withLock { state in
      state.receivers[id] = nil
      run(.end(id), &state)
    }
  }

  /// Writes in the server's own name; the answer is given before this returns, unless it waits for a
  /// commit.
  func call(_ changes: [NodeChange], _ answer: @escaping @Sendable (Response) -> Void) {
    state.withLock { state in
      state.lastCall += 1
      state.answers[state.lastCall] = answer
      run(.call(state.lastCall, changes), &state)
    }
  }

  /// Returns when no write waits for a commit.
  func settle() async {
    await withCheckedContinuation { continuation in
      let isSettled = state.withLock { state in
        if !state.machine.isSettled { state.waiters.append(continuation) }
        return state.machine.isSettled
      }
      if isSettled { continuation.resume() }
    }
  }

  /// Does what the machine says; receivers only put messages into a line, so that they may be called
  /// here, and everybody is told in one order.
  private func run(_ input: Namespace.Input, _ state: inout State) {
    for output in state.machine.handle(input, now: configuration.clock.now) {
      switch output {
      case .send(let id, let message): state.receivers[id]?(.message(message))
      case .close(let id, let reason): state.receivers.removeValue(forKey: id)?(.closed(reason))
      case .answer(let number, let response): state.answers.removeValue(forKey: number)?(response)
      case .commit(let changes): commit(changes)
      case .wake(let time): wake(at: time)
      case .log(let words): configuration.logger.warning("\(words)")
      }
    }
    guard state.machine.isSettled else { return }
    for waiter in state.waiters { waiter.resume() }
    state.waiters = []
  }

  private func commit(_ changes: [NodeChange]) {
    guard let store else { return }
    let edits = changes.map { StorageEdit.overwrite(store.tree, $0.path, $0.node) }
    Task {
      do throws(StoreError) {
        _ = try await store.backend.commit(edits, store.durability)
        handle(.committed(nil))
      } catch {
        handle(.committed(error))
      }
    }
  }

  private func wake(at time: Int64) {
    // A clock that stands still is moved by hand, and so is what happens then.
    if configuration.clock.isStopped { return }
    // At most a day at once; what is still to come then is asked for again.
    let delay = min(max(0, time &- configuration.clock.now), 86_400_000)
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(delay) + 1)) {
      [weak self] in
      guard let self else { return }
      if configuration.clock.now < time { wake(at: time) }
      handle(.tick)
    }
  }
}
