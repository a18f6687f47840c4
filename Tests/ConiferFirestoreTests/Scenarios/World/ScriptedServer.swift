import ConiferDocument
import ConiferWire
import Synchronization

/// A server of documents that says what a test tells it to say.
///
/// Streams open and are greeted by themselves. Whatever is to reach the client waits until `deliver` is called, so that
/// one thing happens at a time.
final class ScriptedServer: DocumentService {
  fileprivate struct Watch {
    let stream: ScriptedStream
    let receive: @Sendable (WatchStreamEvent) -> Void
    /// What the client listens to on the stream.
    var targets: [TargetID: WatchTarget] = [:]
  }

  fileprivate struct Writes {
    let stream: ScriptedStream
    let receive: @Sendable (WriteStreamEvent) -> Void
    var isGreeted = false
    /// What was sent and not answered.
    var sent: [[Mutation]] = []
  }

  fileprivate struct State {
    var watch: Watch?
    var writes: Writes?
    var deliveries: [@Sendable () -> Void] = []
    var watchRequests = 0
    var writeRequests = 0
    var newestToken: UInt8 = 0
    /// The tokens of users that streams were opened with, since they were last asked for.
    var tokens: [String?] = []
    /// What the client did that no client may do.
    var faults: [String] = []
  }

  fileprivate let state = Mutex(State())

  // MARK: The service

  func openWatch(
    token: String?, _ receive: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    let stream = ScriptedStream(self)
    state.withLock { state in
      if state.watch != nil { state.faults.append("two streams of listens are open at once") }
      state.watch = Watch(stream: stream, receive: receive)
      state.tokens.append(token)
      state.deliveries.append { receive(.opened) }
    }
    return stream
  }

  func openWrites(
    token: String?, _ receive: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    let stream = ScriptedStream(self)
    state.withLock { state in
      if state.writes != nil { state.faults.append("two streams of writes are open at once") }
      state.writes = Writes(stream: stream, receive: receive)
      state.tokens.append(token)
      state.deliveries.append { receive(.opened) }
    }
    return stream
  }

  func lookup(_ paths: [DocumentPath], token: String?) async throws(StatusError) -> [Document] {
    throw refusal("looks documents up")
  }

  func commit(_ writes: [Mutation], token: String?) async throws(StatusError) -> CommitResult {
    throw refusal("commits")
  }

  func aggregate(
    _ query: DocumentQuery, _ aggregates: [Aggregate], token: String?
  ) async throws(StatusError) -> [DocumentValue] {
    throw refusal("aggregates")
  }

  /// No case has the client do more than listen and write.
  private func refusal(_ what: String) -> StatusError {
    state.withLock { $0.faults.append("the client \(what)") }
    return StatusError(.unimplemented, "The scripted server does not do that.")
  }

  // MARK: What the client did

  /// What the client listens to on the stream that is open; empty when none is.
  var targets: [TargetID: WatchTarget] { state.withLock { $0.watch?.targets ?? [:] } }
  /// Whether a stream of listens is open.
  var isWatched: Bool { state.withLock { $0.watch != nil } }
  /// What was sent on the stream of writes and not answered.
  var sent: [[Mutation]] { state.withLock { $0.writes?.sent ?? [] } }
  /// How many requests were made of each stream since the beginning; the end of a greeted stream of writes is one.
  var watchRequests: Int { state.withLock { $0.watchRequests } }
  var writeRequests: Int { state.withLock { $0.writeRequests } }

  /// What the client did since the last call that no client may do.
  ///
  /// - Parameter token: what every stream was to be opened with.
  func takeFaults(token: String?) -> [String] {
    state.withLock { state in
      defer { (state.faults, state.tokens) = ([], []) }
      return state.faults
        + state.tokens.filter { $0 != token }.map {
          "a stream was opened with the token \($0 ?? "none"), not \(token ?? "none")"
        }
    }
  }

  // MARK: What the script says

  /// Hands the oldest thing that waits to the client; false when nothing waits.
  func deliver() -> Bool {
    guard
      let delivery = state.withLock({ $0.deliveries.isEmpty ? nil : $0.deliveries.removeFirst() })
    else { return false }
    delivery()
    return true
  }

  /// Says something on the stream of listens.
  ///
  /// - Throws: when no stream is open, or a target is rejected that nobody listens to.
  func say(_ message: ScenarioAction.WatchMessage) throws(ScenarioError) {
    let problem: String? = state.withLock { state in
      guard var watch = state.watch else { return "no stream of listens is open" }
      if case .targets(.rejected, let ids, _) = message.change {
        for id in ids where watch.targets.removeValue(forKey: id) == nil {
          return "target \(id) is rejected, and nobody listens to it"
        }
        state.watch = watch
      }
      state.deliveries.append { [receive = watch.receive] in
        receive(.said(message.change, version: message.version))
      }
      return nil
    }
    if let problem { throw ScenarioError(problem) }
  }

  /// Breaks the stream of listens; nothing happens when none is open.
  func breakWatch(_ error: StatusError) {
    state.withLock { state in
      guard let watch = state.watch else { return }
      state.watch = nil
      state.deliveries.append { watch.receive(.closed(error)) }
    }
  }

  /// Makes the oldest writes that were sent.
  func acknowledge(at time: ConiferDocument.Timestamp) throws(ScenarioError) {
    let isSent = state.withLock { state in
      guard var writes = state.writes, !writes.sent.isEmpty else { return false }
      let results = writes.sent.removeFirst().map {
        WriteResult(updateTime: $0.change == .delete ? nil : time)
      }
      state.writes = writes
      state.newestToken += 1
      state.deliveries.append { [receive = writes.receive, token = state.newestToken] in
        receive(.answered(CommitResult(commitTime: time, results: results), token: [token]))
      }
      return true
    }
    if !isSent { throw ScenarioError("no write was sent that could be answered") }
  }

  /// Refuses the oldest writes that were sent, by an error that ends the stream.
  func refuse(_ error: StatusError) throws(ScenarioError) {
    let isSent = state.withLock { state in
      guard let writes = state.writes, !writes.sent.isEmpty else { return false }
      state.writes = nil
      state.deliveries.append { writes.receive(.closed(error)) }
      return true
    }
    if !isSent { throw ScenarioError("no write was sent that could be refused") }
  }
}

/// A stream of a client; what it does after its end is nothing.
private final class ScriptedStream: WatchStream, WriteStream {
  private let server: ScriptedServer

  init(_ server: ScriptedServer) { self.server = server }

  func add(_ target: WatchTarget) {
    watch { state in
      state.watchRequests += 1
      state.watch?.targets[target.id] = target
    }
  }

  func remove(_ target: TargetID) {
    watch { state in
      state.watchRequests += 1
      if state.watch?.targets.removeValue(forKey: target) == nil {
        state.faults.append("target \(target) is removed, and was not listened to")
      }
    }
  }

  func greet(token: [UInt8]) {
    writes { state, writes in
      if writes.isGreeted { state.faults.append("a stream of writes is greeted twice") }
      state.writeRequests += 1
      state.newestToken += 1
      state.writes?.isGreeted = true
      state.deliveries.append { [token = state.newestToken] in
        writes.receive(.greeted(token: [token]))
      }
    }
  }

  func send(_ mutations: [Mutation], token: [UInt8]) {
    writes { state, writes in
      if !writes.isGreeted { state.faults.append("writes are sent before the greeting") }
      if token != [state.newestToken] {
        state.faults.append("writes are sent with the token \(token), not \(state.newestToken)")
      }
      state.writeRequests += 1
      state.writes?.sent.append(mutations)
    }
  }

  func close() {
    watch { state in
      guard let watch = state.watch else { return }
      state.watch = nil
      state.deliveries.append { watch.receive(.closed(nil)) }
    }
    writes { state, writes in
      if writes.isGreeted { state.writeRequests += 1 }
      state.writes = nil
      state.deliveries.append { writes.receive(.closed(nil)) }
    }
  }

  private func watch(_ body: (inout ScriptedServer.State) -> Void) {
    server.state.withLock { state in if state.watch?.stream === self { body(&state) } }
  }

  private func writes(_ body: (inout ScriptedServer.State, ScriptedServer.Writes) -> Void) {
    server.state.withLock { state in
      if let writes = state.writes, writes.stream === self { body(&state, writes) }
    }
  }
}
