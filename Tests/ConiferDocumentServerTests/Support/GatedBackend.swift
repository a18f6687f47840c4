import ConiferDocument
import ConiferDocumentServer
import ConiferKeyValue
import ConiferStorage
import Synchronization

/// A backend in memory whose commits wait until they are let through, or fail after they were made.
final class GatedBackend: DocumentBackend {
  private struct Waiting {
    let edits: [StorageEdit]
    let durability: Durability
    let reply: CheckedContinuation<Result<CommitReceipt, StoreError>, Never>
  }

  private struct State {
    var isOpen = true
    var waiting: [Waiting] = []
    /// Called once a commit waits.
    var watchers: [CheckedContinuation<Void, Never>] = []
    /// How many commits are made and fail all the same.
    var failures = 0
    /// How many commits were let through at once.
    var commits = 0
  }

  private let base: any DocumentBackend
  private let state = Mutex(State())

  init() throws {
    var options = StorageOptions(durability: .strongest)
    options.role = .authority
    base = try StorageConfiguration.memory(options).open().keepingDocuments()
  }

  /// Storage that is this backend whenever it is opened.
  var configuration: StorageConfiguration {
    StorageConfiguration(name: "gated", location: nil, options: StorageOptions()) { _ in self }
  }

  // MARK: The gate

  /// Lets no commit through from now on.
  func shut() { state.withLock { $0.isOpen = false } }

  /// Lets no commit through, and has a server make one, which waits.
  func hold(
    _ mutation: ConiferDocument.Mutation, by server: DocumentServer
  ) async -> Task<ConiferDocument.Timestamp, any Error> {
    shut()
    let commit = Task { try await server.commit([mutation], in: database) }
    await untilOneWaits()
    return commit
  }

  /// Returns once a commit waits.
  func untilOneWaits() async {
    await withCheckedContinuation { continuation in
      let waits = state.withLock { state in
        if state.waiting.isEmpty { state.watchers.append(continuation) }
        return !state.waiting.isEmpty
      }
      if waits { continuation.resume() }
    }
  }

  /// Makes the commits that wait, before it returns, and lets all others through.
  func open() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      state.isOpen = true
      return state.waiting
    }
    for commit in waiting {
      do throws(StoreError) {
        commit.reply.resume(
          returning: .success(try base.commitAndWait(commit.edits, commit.durability)))
      } catch { commit.reply.resume(returning: .failure(error)) }
    }
  }

  /// The next commits that are let through at once are made, and fail as `io`.
  func fail(next count: Int) { state.withLock { $0.failures = count } }

  /// How many commits were let through at once.
  var count: Int { state.withLock { $0.commits } }

  /// How many streams of writes the store remembers.
  func streams() async throws -> Int {
    let tree = try await base.tree(named: "\(database)/changes", order: .documents)
    let streams = try CollectionPath("streams")
    return try base.readDocuments { (view) throws(StoreError) in
      try view.documents(tree, in: streams, after: nil, limit: .max).count
    }
  }

  // MARK: The contract

  func commit(
    _ edits: [StorageEdit], _ durability: Durability
  ) async throws(StoreError) -> CommitReceipt {
    let isOpen = state.withLock { $0.isOpen }
    guard isOpen else {
      return try await withCheckedContinuation { continuation in
        let watchers = state.withLock { state in
          defer { state.watchers = [] }
          state.waiting.append(Waiting(edits: edits, durability: durability, reply: continuation))
          return state.watchers
        }
        for watcher in watchers { watcher.resume() }
      }.get()
    }
    let receipt = try await base.commit(edits, durability)
    let fails = state.withLock { state in
      state.commits += 1
      defer { state.failures = max(0, state.failures - 1) }
      return state.failures > 0
    }
    if fails { throw StoreError(.io, "The commit was made and could not be synced.") }
    return receipt
  }

  var traits: BackendTraits { base.traits }

  func tree(named name: String, order: KeyOrder) async throws(StoreError) -> TreeID {
    try await base.tree(named: name, order: order)
  }

  func harden(_ upTo: CommitID) async throws(StoreError) { try await base.harden(upTo) }

  func read<R>(_ body: (any StorageView) throws(StoreError) -> R) throws(StoreError) -> R {
    try base.read(body)
  }

  func readDocuments<R>(
    _ body: (any DocumentView) throws(StoreError) -> R
  ) throws(StoreError) -> R { try base.readDocuments(body) }

  @discardableResult
  func setActive(_ isActive: Bool, _ query: QueryID, in tree: TreeID) -> Bool {
    base.setActive(isActive, query, in: tree)
  }
  func observeIncidents(_ handler: (@Sendable () -> Void)?) { base.observeIncidents(handler) }

  func size() throws(StoreError) -> StoreSize { try base.size() }
  func tidy(_ slice: Duration) async throws(StoreError) -> Bool { try await base.tidy(slice) }
  func suspend() async throws(StoreError) { try await base.suspend() }
  func resume() async throws(StoreError) { try await base.resume() }

  /// Leaves the data to whoever opens it again.
  func close() async throws(StoreError) {}
}
