import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import Logging
import Synchronization

/// One database: it does what it is asked for one thing after the other, so that all writes and all moments have one
/// order.
///
/// Requests wait in an inbox, and one task at a time does them. Commits that follow one another share a commit of the
/// store. The closures of streams and answers are called on that task: they return at once.
actor DatabaseHost {
  nonisolated let database: DatabaseID
  nonisolated let configuration: DocumentServerConfiguration
  nonisolated private let inbox = Mutex(RequestInbox())
  nonisolated private let lastNumber = Mutex<UInt64>(0)
  private let backend: any DocumentBackend
  /// Counts what is stored.
  nonisolated let commits: CommitCount
  /// The memory of what listens read for their moments.
  nonisolated let readMemory: ReadMemory
  /// What keeps the store tidy; nil when nothing does.
  nonisolated let housekeeping: HousekeepingRunner?
  /// About how many bytes the history takes, for whoever decides which databases stay in memory.
  nonisolated let historyBytes = Atomic(0)
  var access: DocumentAccess
  /// The error that later requests get; nil while the server runs.
  private var shutDownError: StatusError?
  /// The store; nil until the first request, and when it could not be opened.
  private var opened: DatabaseStore?
  /// The opening that is under way: there is one at a time.
  private var opening: Task<Result<(DatabaseStore, DatabaseStore.Contents), StoreError>, Never>?
  /// What is known of the database as of its last commit; nil before it is opened.
  var contents: DatabaseStore.Contents? {
    didSet { historyBytes.store(contents?.history.bytes ?? 0, ordering: .relaxed) }
  }
  /// Whether the store may show a commit that was reported as failed, and is not durable.
  var isDoubtful = false
  var listening: [StreamID: ListeningStream] = [:]
  /// The streams of listens by what they listen to.
  var index = TargetIndex<StreamID>()
  /// The streams for which there may be something to send.
  var due: Set<StreamID> = []
  /// The number of the quarter of the history's length for which all streams were last marked as
  /// due.
  var lastHeartbeat: Int64 = 0
  var writing: [StreamID: WritingStream] = [:]
  /// Looks at the streams when the next token expires.
  var timer: (expires: Timestamp, task: Task<Void, Never>)?

  init(
    _ database: DatabaseID, _ configuration: DocumentServerConfiguration, _ access: DocumentAccess,
    _ backend: any DocumentBackend, _ commits: CommitCount, _ readMemory: ReadMemory,
    _ housekeeping: HousekeepingRunner?
  ) {
    self.housekeeping = housekeeping
    self.commits = commits
    self.readMemory = readMemory
    self.database = database
    self.configuration = configuration
    self.access = access
    self.backend = backend
  }

  /// A number for a stream.
  nonisolated func newStream() -> StreamID { StreamID(rawValue: newNumber()) }

  /// A number for a client's connection.
  nonisolated func newConnection() -> ConnectionID { ConnectionID(rawValue: newNumber()) }

  nonisolated private func newNumber() -> UInt64 {
    lastNumber.withLock { last in
      last += 1
      return last
    }
  }

  /// Asks for something; it is done after all that was asked for before.
  nonisolated func post(_ request: DatabaseRequest) {
    housekeeping?.used()
    let entry = RequestInbox.Entry(request)
    switch inbox.withLock({ $0.add(entry) }) {
    case .begins: Task { await serve() }
    case .waits: break
    case .refused:
      switch request {
      case .commit(_, .caller(_, _, let told)), .commit(_, .transaction(_, _, _, let told)):
        told(.failure(RequestInbox.busy))
      case .commitEach(let writes, _, _, let told):
        told(writes.map { _ in .failure(RequestInbox.busy) })
      default: break
      }
    }
  }

  /// How many requests wait that nobody has taken up yet.
  nonisolated var waiting: Int { inbox.withLock { $0.requests.count } }

  private func serve() async {
    while true {
      let requests = inbox.withLock { $0.take() }
      if requests.isEmpty { return }
      await handle(requests)
    }
  }

  private func handle(_ requests: [DatabaseRequest]) async {
    var commits: [PendingCommit] = []
    for request in requests {
      if let pending = pendingCommits(request) {
        commits += pending
        continue
      }
      await make(&commits)
      await handle(request)
      await sendDueMoments()
    }
    await make(&commits)
  }

  private func make(_ commits: inout [PendingCommit]) async {
    guard !commits.isEmpty else { return }
    await make(commits)
    commits = []
    await sendDueMoments()
  }

  private func pendingCommits(_ request: DatabaseRequest) -> [PendingCommit]? {
    switch request {
    case .commit(let writes, let committer):
      return [PendingCommit(writes: writes, committer: committer)]
    case .commitEach(let writes, let caller, _, let told):
      let answers = CommitAnswers(writes.count, told)
      return writes.enumerated().map { place, write in
        PendingCommit(
          writes: [write], committer: .caller(caller, nil) { answers.add($0, at: place) })
      }
    case .writes(let id, .send(let writes, let batch, let token)):
      return [PendingCommit(writes: writes, committer: .stream(id, batch: batch, token: token))]
    default: return nil
    }
  }

  private func handle(_ request: DatabaseRequest) async {
    switch request {
    case .openWatch(let id, let token, let deliver): await openWatch(id, token, deliver)
    case .watch(let id, let event): handle(id, event)
    case .openWrites(let id, let token, let deliver): await openWrites(id, token, deliver)
    case .writes(let id, .greet(let token)): await greet(id, token)
    case .writes(let id, .refuse(let error)): end(writing: id, error)
    case .writes(let id, .close): end(writing: id, nil)
    case .writes(_, .send), .commit, .commitEach: break
    case .flooded(let id):
      end(listening: id, RequestInbox.flooded)
      end(writing: id, RequestInbox.flooded)
    case .setAccess(let access):
      self.access = access
      for id in listening.keys.sorted() {
        listening[id]?.hasNewAccess = true
        due.insert(id)
      }
    case .expireTokens: end(Caller.expired) { $0.hasToken }
    case .tick:
      let now = configuration.clock()
      end(Caller.expired) { $0.isExpired(at: now) }
      scheduleNextExpiry()
    case .clear(let done): done(await clear())
    case .waitUntilIdle(let done): done()
    case .shutDown(let error, let done):
      shutDownError = error
      timer?.task.cancel()
      end(error) { _ in true }
      done()
    }
  }

  // MARK: The store

  /// The store; opened when it is first needed.
  ///
  /// - Throws: `unavailable` when it cannot be opened; the next request tries again.
  func store() async throws(StatusError) -> DatabaseStore {
    if let shutDownError { throw shutDownError }
    if let opened { return opened }
    let task =
      opening
      ?? Task { [database, backend, configuration, last = contents?.head.time ?? .zero] in
        do throws(StoreError) {
          return .success(
            try await DatabaseStore.open(
              database, in: backend, configuration.history, most: configuration.bounds.databases,
              now: max(configuration.clock(), last)))
        } catch { return .failure(error) }
      }
    opening = task
    let result = await task.value
    // Others may have waited for the same opening.
    let isFirst = opening == task
    if isFirst { opening = nil }
    switch result {
    case .success((let store, let contents)):
      if isFirst {
        opened = store
        adopt(contents)
      }
      return store
    case .failure(let error):
      configuration.logger.error("The database \(database) cannot be opened: \(error)")
      throw StatusError(failing: error)
    }
  }

  /// Whether the contents in memory are those of the store.
  var isCertain: Bool { opened != nil }

  /// Invalidates the contents in memory: the store may have other contents. They are read again
  /// before anything else is done.
  func invalidateContents() {
    opened = nil
    commits.add()
    commits.addDatabase()
    due.formUnion(listening.keys)
  }

  /// Takes the contents of an opened store, and marks the streams that changes since the last known
  /// contents concern as due.
  private func adopt(_ contents: DatabaseStore.Contents) {
    let earlier = self.contents
    self.contents = contents
    guard let earlier else { return }
    self.contents?.writes.keep(openNames, of: earlier.writes)
    if let changes = contents.history.changes(from: earlier.history.next) {
      changes.forEach(markDue)
    } else {
      for id in listening.keys { listening[id]?.fallBehind(earlier.history.next) }
      due.formUnion(listening.keys)
    }
    // Listeners are told also when the store was first needed by a request without a stream.
    post(.tick)
  }
}

extension StatusError {
  /// Why the server cannot do anything with its store.
  init(failing error: StoreError) {
    switch error.code {
    case .full: self.init(.resourceExhausted, error.message)
    case .tooLarge: self.init(.invalidArgument, error.message)
    case .damaged: self.init(.dataLoss, error.message)
    default: self.init(.unavailable, error.message)
    }
  }
}
