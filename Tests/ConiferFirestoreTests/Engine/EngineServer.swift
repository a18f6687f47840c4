import ConiferDocument
import ConiferWire
import Synchronization

/// A server that says what a test has it say.
final class EngineServer: DocumentService {
  final class Watch: WatchStream {
    let server: EngineServer
    init(_ server: EngineServer) { self.server = server }
    func add(_ target: WatchTarget) { server.state.withLock { $0.targets[target.id] = target } }
    func remove(_ target: TargetID) { server.state.withLock { $0.targets[target] = nil } }
    func taken() { server.state.withLock { $0.taken }() }
    func close() { server.state.withLock { $0.watch = nil } }
  }

  final class Writes: WriteStream {
    let server: EngineServer
    init(_ server: EngineServer) { self.server = server }
    func greet(token: [UInt8]) {
      server.state.withLock { $0.greetings.append(token) }
      server.later { $0.write?(.greeted(token: [1])) }
    }
    func send(_ writes: [Mutation], batch: Int64?, token: [UInt8]) {
      server.state.withLock { state in
        state.sent.append(writes)
        state.allSent.append(writes)
      }
    }
    func close() {
      server.state.withLock { state in
        state.write = nil
        state.sent = []
      }
    }
  }

  struct State {
    var watch: (@Sendable (WatchStreamEvent) -> Void)?
    var write: (@Sendable (WriteStreamEvent) -> Void)?
    var targets: [TargetID: WatchTarget] = [:]
    var sent: [[Mutation]] = []
    var allSent: [[Mutation]] = []
    /// The tokens of streams and requests, in their order.
    var tokens: [String?] = []
    /// What is done when the client has taken in something that was said.
    var taken: @Sendable () -> Void = {}
    /// What a request waits for before it is made.
    var preparation: @Sendable () async -> Void = {}
    /// Why requests that are not streams are refused, if they are.
    var refusal: StatusError?
    /// What streams of writes were greeted with.
    var greetings: [[UInt8]] = []
    /// What is to happen once the engine has nothing to do.
    var later: [@Sendable (State) -> Void] = []
    var aggregate: Result<[DocumentValue], StatusError> = .success([])
    var found: [DocumentPath: Document] = [:]
  }

  let state = Mutex(State())

  var targets: [TargetID: WatchTarget] { state.withLock { $0.targets } }
  /// The writes that were sent and not answered.
  var sent: [[Mutation]] { state.withLock { $0.sent } }
  /// All that were sent, repeated ones too.
  var allSent: [[Mutation]] { state.withLock { $0.allSent } }
  var hasWatch: Bool { state.withLock { $0.watch != nil } }
  var hasWrites: Bool { state.withLock { $0.write != nil } }
  var greetings: [[UInt8]] { state.withLock { $0.greetings } }
  var tokens: [String?] { state.withLock { $0.tokens } }

  private func later(_ body: @escaping @Sendable (State) -> Void) {
    state.withLock { $0.later.append(body) }
  }

  /// Does what is to happen; whether there was something.
  func deliver() -> Bool {
    let (bodies, now) = state.withLock { state in
      defer { state.later = [] }
      return (state.later, state)
    }
    for body in bodies { body(now) }
    return !bodies.isEmpty
  }

  /// Forgets all streams.
  func drop() {
    state.withLock { state in
      (state.watch, state.write, state.targets, state.sent, state.later) = (nil, nil, [:], [], [])
    }
  }

  // MARK: The client's calls

  func openWatch(
    token: String?, _ receive: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    state.withLock { state in
      state.watch = receive
      state.targets = [:]
      state.tokens.append(token)
    }
    later { _ in receive(.opened) }
    return Watch(self)
  }

  func openWrites(
    token: String?, _ receive: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    state.withLock { state in
      state.write = receive
      state.sent = []
      state.tokens.append(token)
    }
    later { _ in receive(.opened) }
    return Writes(self)
  }

  func prepare() async { await state.withLock { $0.preparation }() }

  func lookup(_ paths: [DocumentPath], token: String?) async throws(StatusError) -> [Document] {
    try asked(token)
    return paths.map { path in state.withLock { $0.found[path] } ?? Document(path, .missing) }
  }

  func commit(_ writes: [Mutation], token: String?) async throws(StatusError) -> CommitResult {
    throw StatusError(.aborted, "Another one wrote.")
  }

  func aggregate(
    _ query: DocumentQuery, _ aggregates: [Aggregate], token: String?
  ) async throws(StatusError) -> [DocumentValue] {
    try asked(token)
    return try state.withLock { $0.aggregate }.get()
  }

  private func asked(_ token: String?) throws(StatusError) {
    let refusal = state.withLock { state in
      state.tokens.append(token)
      return state.refusal
    }
    if let refusal { throw refusal }
  }

  // MARK: What it says

  func say(_ change: WatchChange, at micros: Int64? = nil) {
    let time = micros.flatMap { try? ConiferDocument.Timestamp(microseconds: $0) }
    state.withLock { $0.watch }?(.said(change, version: time))
  }

  /// Says all of a target: its documents, and that these are all, as of a time.
  func tell(_ id: TargetID, _ documents: [(String, Int64)], at micros: Int64) throws {
    say(.targets(.added, [id]))
    for (path, n) in documents { try tell(path, n, to: [id], version: micros) }
    say(.targets(.current, [id], resumeToken: Array("t\(micros)".utf8)))
    say(.targets(.noChange, []), at: micros)
  }

  func tell(_ path: String, _ n: Int64, to ids: [TargetID], version: Int64) throws {
    say(
      .document(
        Document(
          try DocumentPath(path), .found(["n": .integer(n)]),
          version: try ConiferDocument.Timestamp(microseconds: version)), matching: ids))
  }

  /// Accepts the oldest write that was sent.
  ///
  /// - Parameter transforms: what the transforms of each mutation have made.
  func accept(at micros: Int64, transforms: [DocumentValue] = []) throws {
    let time = try ConiferDocument.Timestamp(microseconds: micros)
    let (write, count) = state.withLock { state in
      (state.write, state.sent.isEmpty ? 0 : state.sent.removeFirst().count)
    }
    write?(
      .answered(
        CommitResult(
          commitTime: time,
          results: (0..<count).map { _ in WriteResult(updateTime: time, transforms: transforms) }),
        token: [2]))
  }

  /// Refuses the oldest write that was sent, which ends the stream.
  func refuse(_ code: StatusCode, _ words: String = "No.") {
    let write = state.withLock { state in
      defer { state.write = nil }
      return state.write
    }
    write?(.closed(StatusError(code, words)))
  }

  func breakWatch(_ code: StatusCode = .unavailable) {
    let watch = state.withLock { state in
      defer { (state.watch, state.targets) = (nil, [:]) }
      return state.watch
    }
    watch?(.closed(StatusError(code, "Broken.")))
  }
}
