import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferStorage
import ConiferWire
import Dispatch
import JournalStore
import Logging
import Synchronization
import TestSupport

@testable import ConiferFirestore

#if RocksDB
  import ConiferRocksDB
#endif

/// The backends that the engine is tested on; the journal is the outside example's.
enum EngineStore: String, CaseIterable, Sendable {
  case memory
  case lmdb
  case sqlite
  case log
  case journal
  #if RocksDB
    case rocksDB
  #endif

  /// Those that outlive a process.
  static let durable = allCases.filter { $0 != .memory }

  func configuration(at directory: String) -> StorageConfiguration {
    switch self {
    case .memory: .memory
    case .lmdb: .lmdb(at: directory)
    case .sqlite: .sqlite(at: directory)
    case .log: .log(at: directory)
    case .journal: .journal(at: directory)
    #if RocksDB
      case .rocksDB: .rocksdb(at: directory)
    #endif
    }
  }
}

/// Who is signed in, as a test says.
final class EngineSignIn: TokenProvider {
  enum Answer: Sendable, Equatable {
    case user(String?)
    case token(AuthToken)
    case failure
    /// None comes.
    case never
  }

  private struct State {
    var answer = Answer.user(nil)
    var forced = 0
    var count = 0
    var hanging: [CheckedContinuation<Answer, Never>] = []
  }

  private let state = Mutex(State())

  /// How often a token was asked for that is not the last one.
  var forcedCount: Int { state.withLock { $0.forced } }
  /// How often a token was asked for.
  var count: Int { state.withLock { $0.count } }
  /// Whether no answer comes, or one has not come yet.
  var isHanging: Bool { state.withLock { $0.answer == .never || !$0.hanging.isEmpty } }

  /// How many questions have no answer.
  var hangingCount: Int { state.withLock { $0.hanging.count } }

  func set(_ answer: Answer) { state.withLock { $0.answer = answer } }

  deinit { answerLate(.failure) }

  /// Answers the questions that no answer came to.
  func answerLate(_ answer: Answer) {
    let hanging = state.withLock { state in
      defer { state.hanging = [] }
      return state.hanging
    }
    for question in hanging { question.resume(returning: answer) }
  }

  /// Answers the first question that no answer came to.
  func answerOldest(_ answer: Answer) {
    let oldest = state.withLock { $0.hanging.isEmpty ? nil : $0.hanging.removeFirst() }
    oldest?.resume(returning: answer)
  }

  func token(forcingRefresh: Bool) async throws -> AuthToken? {
    var answer = state.withLock { state in
      state.count += 1
      if forcingRefresh { state.forced += 1 }
      return state.answer
    }
    if answer == .never {
      answer = await withCheckedContinuation { question in
        state.withLock { $0.hanging.append(question) }
      }
    }
    switch answer {
    case .user(let name): return name.map { AuthToken("token of \($0)", identity: $0) }
    case .token(let token): return token
    case .failure, .never: throw StatusError(.unavailable, "Not now.")
    }
  }
}

/// An engine with a scripted server.
final class EngineWorld {
  let server = EngineServer()
  let clock = ScriptedClock()
  let signIn: EngineSignIn?
  let told = Gathered<String>()
  private let scratch: Scratch
  private(set) var configuration: FirestoreConfiguration
  private(set) var engine: FirestoreEngine

  static let database = DatabaseID(project: "test")

  init(
    _ store: EngineStore = .memory, usesTokens: Bool = false,
    _ change: (inout FirestoreConfiguration) -> Void = { _ in }
  ) throws {
    scratch = try Scratch()
    signIn = usesTokens ? EngineSignIn() : nil
    configuration = FirestoreConfiguration(
      projectID: "test", storage: store.configuration(at: scratch.store),
      transport: DocumentTransport(server, description: "a script"))
    configuration.tokenProvider = signIn
    configuration.clock = clock
    configuration.housekeeping = .off
    configuration.random = { .max / 2 }
    configuration.callbackQueue = CallbackQueue(queue: .global()) { $0() }
    configuration.logger.logLevel = .critical
    change(&configuration)
    engine = FirestoreEngine(configuration)
  }

  /// Lets all happen that is under way.
  func waitUntilIdle() async {
    repeat {
      if signIn?.isHanging == true {
        // The engine would wait for the answer. Other questions may still be answered.
        for _ in 0..<4 {
          _ = await engine.target(of: 0)
          try? await Task.sleep(for: .milliseconds(25))
        }
      } else {
        await engine.waitUntilIdle()
      }
    } while server.deliver()
  }

  /// Ends the engine, and begins another one on the same storage.
  func restart() async {
    await end()
    engine = FirestoreEngine(configuration)
    await waitUntilIdle()
  }

  func end() async {
    await withCheckedContinuation { (ended: CheckedContinuation<Void, Never>) in
      engine.terminate { _ in ended.resume() }
    }
    server.drop()
  }

  // MARK: The app

  func query(_ path: String) throws -> DocumentQuery {
    DocumentQuery(.collection(try CollectionPath(path)), in: Self.database)
  }

  /// Listens, and has what is told written down as text.
  func listen(
    _ id: ListenerID, _ query: DocumentQuery,
    _ options: ListenOptions = ListenOptions(includesMetadataChanges: true)
  ) async {
    engine.listen(id, query, options) { [told] in told.add("\(id): \(Self.text($0))") }
    await waitUntilIdle()
  }

  /// Has the engine find all at once what the app asks for in a closure.
  func together(_ body: () throws -> Void) async rethrows {
    let isFree = DispatchSemaphore(value: 0)
    await withCheckedContinuation { isBusy in
      engine.run { _ in
        isBusy.resume()
        isFree.wait()
      }
    }
    defer { isFree.signal() }
    try body()
  }

  /// Has listeners begin together; they have numbers from 0 on.
  func listenTogether(_ paths: [String]) async throws {
    try await together {
      for (number, path) in paths.enumerated() {
        let options = ListenOptions(includesMetadataChanges: true)
        engine.listen(ListenerID(number), try query(path), options) { [told] in
          told.add("\(number): \(Self.text($0))")
        }
      }
    }
  }

  static func text(_ result: Result<ListenEvent, FirestoreError>) -> String {
    switch result {
    case .failure(let error): return "\(error.code)"
    case .success(let event):
      let documents = event.snapshot.documents.map { text($0) }.joined(separator: " ")
      return documents + (event.snapshot.isFromCache ? " cached" : "")
        + (event.snapshot.hasPendingWrites ? " pending" : "")
    }
  }

  static func text(_ document: Document) -> String {
    guard let fields = document.fields else { return "\(document.path.id)-" }
    let size = fields["n"].map { "\($0.number.map { "\(Int($0.asDouble))" } ?? "?")" } ?? ""
    return "\(document.path.id)\(size)"
  }

  @discardableResult
  func set(_ path: String, _ n: Int64) throws -> WriteReceipt {
    let write = try Mutation.set(
      DocumentPath(path), [("n", .value(.integer(n)))], in: Self.database)
    return engine.write([write]) { [told] error in
      told.add("\(path): \(error.map { "\($0.code)" } ?? "done")")
    }
  }
}
