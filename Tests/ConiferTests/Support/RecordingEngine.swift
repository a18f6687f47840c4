import ConiferEngine
import ConiferKeyValue
import ConiferQuery
import ConiferSync
import ConiferTree
import Synchronization

@testable import Conifer

/// An engine that does nothing but note what the API asks of it, and answer as a test says.
final class RecordingEngine: DatabaseEngine {
  struct Listener {
    let id: ListenerID
    let target: QueryTarget
    let kinds: DataEvent.Kinds
    let isOnce: Bool
    let event: @Sendable (DataEvent) -> Void
    let cancel: (@Sendable (DatabaseError) -> Void)?
  }

  struct State {
    var writes: [LocalWrite] = []
    var listeners: [Listener] = []
    var stopped: [ListenerID] = []
    var stoppedAll: [QueryTarget] = []
    var gets: [QueryTarget] = []
    var policies: [ReadPolicy] = []
    var pins: [(Bool, QueryTarget)] = []
    var disconnects: [DisconnectRequest] = []
    var calls: [String] = []
    var pending: [PendingWrite] = []
    var edits: [(WriteReceipt.ID, LocalWrite)] = []
    /// What the next calls are answered.
    var error: DatabaseError?
    var node = Node.empty
    var knowledge = ViewKnowledge()
    /// The nodes that a transaction's function is given, one after the other.
    var inputs: [Node] = [.empty]
    var steps: [TransactionMachine.Decision] = []
  }

  let configuration: DatabaseConfiguration
  let state = Mutex(State())
  let authState = StateSource(Conifer.AuthState.signedOut)
  let isConnected = StateSource(false)
  let serverTime: Int64 = 1_700_000_000_000

  init(_ configuration: DatabaseConfiguration) { self.configuration = configuration }

  /// What was recorded.
  var recorded: State { state.withLock { $0 } }

  func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

  private func later(_ work: @escaping @Sendable () -> Void) {
    configuration.callbackQueue.async(work)
  }

  func storage() async throws(DatabaseError) -> StorageQuestions {
    throw DatabaseError(.closed, "There is none.")
  }

  func observeUsage(
    _ observation: UsageObservation, _ limits: UsageLimits,
    _ told: @escaping @Sendable (UsageChange) -> Void
  ) {}
  func usageObservationEnded() {}

  func clear(_ path: Path) async throws(DatabaseError) -> CommitID {
    throw DatabaseError(.closed, "There is none.")
  }

  func write(
    _ write: LocalWrite, completion: (@Sendable (DatabaseError?) -> Void)?
  ) -> WriteReceipt {
    let (number, error) = state.withLock { state in
      state.writes.append(write)
      return (UInt64(state.writes.count), state.error)
    }
    let receipt = WriteReceipt()
    receipt.setID(.init(identity: "", number: number))
    receipt.setDurable(.success(.power))
    receipt.end(error.map { .rejected($0) } ?? .acknowledged)
    later { completion?(error) }
    return receipt
  }

  func transact(
    at path: Path, raisesLocalEvents: Bool,
    update: @escaping @Sendable (Node) -> TransactionMachine.Decision,
    completion: @escaping @Sendable (DatabaseError?, Bool, KnownNode) -> Void
  ) {
    set { $0.calls.append("transact \(path) \(raisesLocalEvents)") }
    let inputs = recorded.inputs
    let (error, knowledge) = (recorded.error, recorded.knowledge)
    later {
      var last = TransactionMachine.Decision.abort
      for input in inputs {
        last = update(input)
        let step = last
        self.set { $0.steps.append(step) }
        if case .abort = step { break }
      }
      switch last {
      case .write(let node): completion(error, error == nil, KnownNode(node, knowledge))
      case .abort: completion(error, false, KnownNode(inputs.last ?? .empty, knowledge))
      }
    }
  }

  func observe(
    _ id: ListenerID, _ target: QueryTarget, _ kinds: DataEvent.Kinds,
    event: @escaping @Sendable (DataEvent) -> Void, cancel: (@Sendable (DatabaseError) -> Void)?,
    removed: (@Sendable () -> Void)?
  ) {
    set {
      $0.listeners.append(
        Listener(
          id: id, target: target, kinds: kinds, isOnce: false, event: event, cancel: cancel))
    }
  }

  func observeOnce(
    _ id: ListenerID, _ target: QueryTarget, _ kinds: DataEvent.Kinds,
    event: @escaping @Sendable (DataEvent) -> Void, cancel: (@Sendable (DatabaseError) -> Void)?
  ) {
    set {
      $0.listeners.append(
        Listener(id: id, target: target, kinds: kinds, isOnce: true, event: event, cancel: cancel))
    }
  }

  /// Tells all listeners of a kind.
  func raise(_ event: DataEvent) {
    for listener in recorded.listeners where listener.kinds.contains(.init(event.kind)) {
      later { listener.event(event) }
    }
  }

  /// Ends all listeners with an error.
  func cancel(_ error: DatabaseError) {
    for listener in recorded.listeners { later { listener.cancel?(error) } }
  }

  func stopObserving(_ id: ListenerID) { set { $0.stopped.append(id) } }
  func stopObservingAll(_ target: QueryTarget) { set { $0.stoppedAll.append(target) } }

  func get(
    _ target: QueryTarget, _ policy: ReadPolicy,
    completion: @escaping @Sendable (Result<KnownNode, DatabaseError>) -> Void
  ) {
    set {
      $0.gets.append(target)
      $0.policies.append(policy)
    }
    let recorded = recorded
    let known = KnownNode(recorded.node, recorded.knowledge)
    later { completion(recorded.error.map { .failure($0) } ?? .success(known)) }
  }

  func getFromServer(
    _ target: QueryTarget, completion: @escaping @Sendable (Result<Node, DatabaseError>) -> Void
  ) { get(target, .server) { result in completion(result.map(\.node)) } }

  func setPinned(_ isPinned: Bool, _ target: QueryTarget) {
    set { $0.pins.append((isPinned, target)) }
  }

  func onDisconnect(
    _ operation: DisconnectRequest, completion: (@Sendable (DatabaseError?) -> Void)?
  ) {
    set { $0.disconnects.append(operation) }
    let error = recorded.error
    later { completion?(error) }
  }

  func goOnline() { set { $0.calls.append("online") } }
  func goOffline() { set { $0.calls.append("offline") } }
  func purge() { set { $0.calls.append("purge") } }

  func writes(
    after number: UInt64?, limit: Int, rejectedOnly: Bool
  ) async throws(DatabaseError) -> [PendingWrite] {
    let found = recorded.pending.filter { write in
      var isRejected = false
      if case .rejected = write.state { isRejected = true }
      return write.id.number > (number ?? 0) && (!rejectedOnly || isRejected)
    }
    return Array(found.prefix(limit))
  }

  func writeTotals() async throws(DatabaseError) -> PendingWriteTotals {
    PendingWriteTotals(pending: recorded.pending.count)
  }

  func takeMail() async throws(DatabaseError) -> MailReport {
    set { $0.calls.append("takeMail") }
    return MailReport()
  }
  func discardMail(of identity: String?) async throws(DatabaseError) {
    set { $0.calls.append("discardMail \(identity ?? "all")") }
  }
  func suspend() async throws(DatabaseError) { set { $0.calls.append("suspend") } }
  func resume() async throws(DatabaseError) { set { $0.calls.append("resume") } }
  func drain(until deadline: Double) async throws(DatabaseError) -> PendingWriteTotals {
    set { $0.calls.append("drain \(deadline)") }
    return PendingWriteTotals(pending: recorded.pending.count)
  }

  func outcome(of id: WriteReceipt.ID) async throws(DatabaseError) -> WriteReceipt.Outcome {
    if let error = recorded.error { throw error }
    return .acknowledged
  }

  func retry(_ id: WriteReceipt.ID) async throws(DatabaseError) {
    set { $0.calls.append("retry \(id)") }
  }

  func edit(
    _ id: WriteReceipt.ID, to write: LocalWrite
  ) async throws(DatabaseError) -> WriteReceipt {
    set { $0.edits.append((id, write)) }
    let receipt = WriteReceipt()
    receipt.setID(.init(identity: id.identity, number: id.number + 1))
    return receipt
  }

  func discard(_ id: WriteReceipt.ID) async throws(DatabaseError) {
    set { $0.calls.append("discard \(id)") }
  }

  func refreshToken() { set { $0.calls.append("token") } }
  func refreshAppToken() { set { $0.calls.append("app token") } }
  func close() async { set { $0.calls.append("close") } }
}
