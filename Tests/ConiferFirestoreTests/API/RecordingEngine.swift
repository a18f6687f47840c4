import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferStorage
import Dispatch
import Logging
import Synchronization

@testable import ConiferFirestore

/// An engine that writes down what it is asked for, and answers as a test says.
final class RecordingEngine: DocumentEngine {
  typealias Told = @Sendable (Result<ListenEvent, FirestoreError>) -> Void

  struct Listen {
    let id: ListenerID
    let query: DocumentQuery
    let options: ListenOptions
    let told: Told
  }

  struct State {
    var listens: [Listen] = []
    var unlistened: [ListenerID] = []
    var inSync: [ListenerID: @Sendable () -> Void] = [:]
    var writes: [[Mutation]] = []
    var ends: [(@Sendable (FirestoreError?) -> Void)?] = []
    var receipts: [WriteReceipt] = []
    var calls: [String] = []
    var got: Result<GotDocument, FirestoreError>?
    var found: Result<ListenEvent, FirestoreError>?
    var aggregate: Result<AggregateAnswer, FirestoreError>?
    var documents: [[Document]] = []
    var commits: [[Mutation]] = []
    var refusals: [FirestoreError] = []
    /// Whether requests of transactions have no answer.
    var isSilent = false
    var indexes: [[DocumentIndex]] = []
    var named: [String: DocumentQuery] = [:]
    var bundle: (@Sendable (Result<BundleProgress, FirestoreError>) -> Void)?
    var pending: [PendingDocumentWrite] = []
  }

  let state = Mutex(State())

  /// Sets what is answered, or looks at what was asked for.
  @discardableResult
  func answer<R>(_ body: (inout sending State) -> sending R) -> R { state.withLock(body) }

  private func note(_ call: String) { state.withLock { $0.calls.append(call) } }
  var calls: [String] { state.withLock { $0.calls } }
  var writes: [[Mutation]] { state.withLock { $0.writes } }
  var listens: [Listen] { state.withLock { $0.listens } }
  var unlistened: [ListenerID] { state.withLock { $0.unlistened } }

  func listen(
    _ id: ListenerID, _ query: DocumentQuery, _ options: ListenOptions, _ told: @escaping Told
  ) {
    state.withLock {
      $0.listens.append(Listen(id: id, query: query, options: options, told: told))
    }
  }

  func unlisten(_ id: ListenerID) { state.withLock { $0.unlistened.append(id) } }

  func get(
    _ path: DocumentPath, _ source: GetSource,
    _ told: @escaping @Sendable (Result<GotDocument, FirestoreError>) -> Void
  ) {
    note("get \(path) \(source)")
    if let got = state.withLock({ $0.got }) { told(got) }
  }

  func get(_ query: DocumentQuery, _ source: GetSource, _ told: @escaping Told) {
    note("get \(query.canonical) \(source)")
    if let found = state.withLock({ $0.found }) { told(found) }
  }

  func aggregate(
    _ query: DocumentQuery, _ aggregates: [Aggregate], _ source: GetSource,
    _ told: @escaping @Sendable (Result<AggregateAnswer, FirestoreError>) -> Void
  ) {
    note("aggregate \(aggregates.count) \(source)")
    if let answer = state.withLock({ $0.aggregate }) { told(answer) }
  }

  func listenInSync(_ id: ListenerID, _ told: @escaping @Sendable () -> Void) {
    state.withLock { $0.inSync[id] = told }
    told()
  }

  func write(
    _ writes: [Mutation], _ ended: (@Sendable (FirestoreError?) -> Void)?
  ) -> WriteReceipt {
    let receipt = WriteReceipt()
    state.withLock {
      $0.writes.append(writes)
      $0.ends.append(ended)
      $0.receipts.append(receipt)
    }
    return receipt
  }

  /// Ends all writes that were asked for.
  func end(_ error: FirestoreError? = nil) {
    let (ends, receipts) = state.withLock { state in
      defer { (state.ends, state.receipts) = ([], []) }
      return (state.ends, state.receipts)
    }
    for receipt in receipts {
      receipt.end(error.map { .rejected(DatabaseError($0)) } ?? .acknowledged)
    }
    for end in ends { end?(error) }
  }

  func waitForPendingWrites(_ told: @escaping @Sendable (FirestoreError?) -> Void) {
    note("wait")
    told(nil)
  }

  func lookup(
    _ paths: [DocumentPath], _ user: TransactionUser
  ) async throws(FirestoreError) -> [Document] {
    await wait("lookup")
    return state.withLock { state in
      let documents = state.documents.first ?? []
      if state.documents.count > 1 { state.documents.removeFirst() }
      return documents.filter { paths.contains($0.path) }
    }
  }

  /// Waits for ever where requests of transactions have no answer, unless it is cancelled.
  private func wait(_ call: String) async {
    guard state.withLock({ $0.isSilent }) else { return }
    note(call)
    try? await Task.sleep(for: .seconds(100_000))
    note("end of \(call)")
  }

  func commit(
    _ writes: [Mutation], _ user: TransactionUser
  ) async throws(FirestoreError) {
    await wait("commit")
    let refusal = state.withLock { state -> FirestoreError? in
      state.commits.append(writes)
      return state.refusals.isEmpty ? nil : state.refusals.removeFirst()
    }
    if let refusal { throw refusal }
  }

  func outcome(of id: WriteReceipt.ID) async throws(FirestoreError) -> WriteReceipt.Outcome {
    note("outcome \(id)")
    return .acknowledged
  }

  func pendingWrites(
    after number: UInt64?, limit: Int, rejectedOnly: Bool
  ) async throws(FirestoreError) -> [PendingDocumentWrite] {
    note("pending \(number.map { "\($0)" } ?? "first") \(limit) \(rejectedOnly)")
    return state.withLock { $0.pending }
  }

  func retry(_ id: WriteReceipt.ID) async throws(FirestoreError) { note("retry \(id)") }
  func discard(_ id: WriteReceipt.ID) async throws(FirestoreError) { note("discard \(id)") }
  func keepSynced(_ isKept: Bool, _ query: DocumentQuery) {
    note("keep \(isKept) \(query.canonical)")
  }

  func setIndexes(
    _ indexes: [DocumentIndex], _ told: @escaping @Sendable (FirestoreError?) -> Void
  ) {
    state.withLock { $0.indexes.append(indexes) }
    told(nil)
  }

  func setCreatesIndexes(_ creates: Bool) { note("creates \(creates)") }

  func loadBundle(
    _ bytes: [UInt8], _ told: @escaping @Sendable (Result<BundleProgress, FirestoreError>) -> Void
  ) {
    note("bundle \(bytes.count)")
    state.withLock { $0.bundle = told }
  }

  func namedQuery(
    _ name: String, _ told: @escaping @Sendable (Result<DocumentQuery?, FirestoreError>) -> Void
  ) { told(.success(state.withLock { $0.named[name] })) }

  func tokenDidChange() { note("token") }
  func appCheckTokenDidChange() { note("app token") }

  func setNetwork(_ isEnabled: Bool, _ told: @escaping @Sendable (FirestoreError?) -> Void) {
    note("network \(isEnabled)")
    told(nil)
  }

  func suspend(_ told: @escaping @Sendable (FirestoreError?) -> Void) {
    note("suspend")
    told(nil)
  }

  func resume(_ told: @escaping @Sendable (FirestoreError?) -> Void) {
    note("resume")
    told(nil)
  }

  func drain(until deadline: Double) async throws(FirestoreError) -> PendingWriteTotals {
    note("drain \(deadline)")
    return PendingWriteTotals()
  }

  func storage() async throws(DatabaseError) -> StorageQuestions {
    throw DatabaseError(.closed, "There is none.")
  }
  func trackedQuery(_ query: DocumentQuery) async throws(FirestoreError) -> QueryID? { nil }

  func observeUsage(
    _ observation: UsageObservation, _ limits: UsageLimits,
    _ told: @escaping @Sendable (UsageChange) -> Void
  ) {}
  func usageObservationEnded() {}

  func clear(
    _ source: DocumentQuery.Source, after position: ClearedDocuments.Position?
  ) async throws(FirestoreError) -> ClearedDocuments {
    throw FirestoreError.terminated
  }

  func terminate(_ told: @escaping @Sendable (FirestoreError?) -> Void) {
    note("terminate")
    told(nil)
  }
}

/// What was logged as an error.
final class LoggedErrors: Sendable {
  private let messages = Mutex<[String]>([])
  var all: [String] { messages.withLock { $0 } }

  fileprivate func add(_ message: String) { messages.withLock { $0.append(message) } }

  var logger: Logger {
    Logger(label: "test") { _ in Handler(errors: self) }
  }

  private struct Handler: LogHandler {
    let errors: LoggedErrors
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.error
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) { errors.add("\(event.message)") }
  }
}

/// A database over an engine that records.
struct Recorded {
  let engine = RecordingEngine()
  let errors = LoggedErrors()
  let firestore: Firestore

  init(_ change: (inout FirestoreConfiguration) -> Void = { _ in }) {
    var configuration = FirestoreConfiguration(projectID: "test")
    configuration.callbackQueue = CallbackQueue(queue: .global()) { $0() }
    configuration.logger = errors.logger
    change(&configuration)
    firestore = Firestore(configuration) { [engine] _ in engine }
  }

  var database: DatabaseID { firestore.database }

  /// A snapshot of a document with some fields.
  func snapshot(_ path: String, _ fields: MapValue?) throws -> DocumentSnapshot {
    let path = try DocumentPath(path)
    let document = Document(path, fields.map { .found($0) } ?? .missing)
    return DocumentSnapshot(
      DocumentReference(firestore, path), GotDocument(document: document, isFromCache: false))
  }

  /// What a write of some data asks for.
  func set(_ data: [String: Any]) throws -> MapValue? {
    firestore.document("rooms/eros").setData(data)
    guard case .set(let fields, _)? = engine.writes.last?.first?.change else { return nil }
    return fields
  }
}
