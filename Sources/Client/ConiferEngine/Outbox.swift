package import ConiferKeyValue
package import ConiferStorage

/// The edits to commit and the calls of the app that the parts of an engine have asked for, each in
/// order.
///
/// The engine alone has them done. Edits that are asked for together are stored together; those of a step share a
/// commit, and steps may share one too.
package final class Outbox {
  /// The numbers that a commit gave to what one part asked for.
  package struct Numbers {
    package let commit: CommitID
    package let writes: ArraySlice<WriteID>
    package let queries: ArraySlice<QueryID>
  }

  package typealias Stored = Result<Numbers, StoreError>

  /// Edits that belong together, and what follows when they are stored or cannot be.
  private struct EditGroup {
    let edits: [StorageEdit]
    let then: (Stored) -> Void

    /// How many numbers of writes and queries the edits are given.
    var numbers: (writes: Int, queries: Int) {
      edits.reduce(into: (0, 0)) { count, edit in
        switch edit {
        case .enqueue: count.0 += 1
        case .saveQuery: count.1 += 1
        default: break
        }
      }
    }
  }

  /// A commit that was reported as failed, when nobody could read yet whether it was made.
  private struct InDoubtCommit {
    let groups: [EditGroup]
    let attempt: CommitAttempt
    let error: StoreError
  }

  private var groups: [EditGroup] = []
  private var inDoubtCommits: [InDoubtCommit] = []
  /// The newest write of each lane that writes were queued in.
  private var newest: [Lane: WriteID?] = [:]
  /// The last commit; nil before the first one.
  package private(set) var last: CommitID?
  private var calls: [@Sendable () -> Void] = []
  private let storage: EngineStorage
  private let callbackQueue: CallbackQueue
  /// Whether no action may be carried out before the next commit, as what follows from the action
  /// must find it stored.
  package private(set) var holdsActions = false

  /// The most groups that share a commit.
  private static let largestCommit = 256
  /// How many calls of the app are worth another one of its queue.
  private static let manyCalls = 32
  /// The name of a metadata entry that is changed only to see whether the storage works.
  private static let probeName = "conifer.trial"

  package init(_ storage: EngineStorage, _ callbackQueue: CallbackQueue) {
    self.storage = storage
    self.callbackQueue = callbackQueue
  }

  /// Whether something waits for the next commit.
  package var hasUncommitted: Bool { !groups.isEmpty }

  /// Whether the next commit is as large as one should be.
  package var isFull: Bool { groups.count >= Self.largestCommit }

  /// Has edits stored with the next commit.
  ///
  /// - Parameter then: called after the commit, in the order in which commits were asked for.
  package func addEdits(_ edits: [StorageEdit], then: @escaping (Stored) -> Void = { _ in }) {
    groups.append(EditGroup(edits: edits, then: then))
  }

  /// Calls something after the next commit, also when that fails.
  package func afterCommit(_ body: @escaping () -> Void) { addEdits([]) { _ in body() } }

  /// Holds further actions back until the waiting edits are committed, as what follows must find them stored.
  package func holdActions() { holdsActions = true }

  /// Has the app called behind all that waits for a commit.
  package func addCall(_ body: @escaping @Sendable () -> Void) { calls.append(body) }

  /// Hands the calls of the app to its queue during a step once there are many, so that the app
  /// runs beside the engine. What the calls report must be stored already.
  package func callAppEarly() { if calls.count >= Self.manyCalls { callApp() } }

  /// Hands the calls of the app to its queue, in order.
  package func callApp() {
    guard !calls.isEmpty else { return }
    callbackQueue.async { [calls] in for call in calls { call() } }
    calls = []
  }

  /// Commits what waits: together, or each group alone when that fails and the commit was not made.
  ///
  /// - Parameters:
  ///   - prepare: called before each attempt; it may commit edits of its own.
  ///   - willStore: told of the edits of an attempt.
  package func commit(after prepare: () -> Void, willStore: ([StorageEdit]) -> Void) {
    guard hasUncommitted else { return }
    let all = groups
    groups = []
    holdsActions = false
    commit(all, prepare, willStore)
  }

  /// Applies edits at once, so that they survive the process as far as the storage can; on this thread,
  /// unless that is busy with a sync or an eviction.
  package func commitNow(_ edits: [StorageEdit]) throws(StoreError) -> CommitReceipt {
    guard let backend = storage.backend else {
      throw StoreError(.closed, "The database has no open storage. Open the database again.")
    }
    guard !edits.isEmpty else { return CommitReceipt(commit: CommitID(rawValue: 0)) }
    storage.housekeeping?.commitBegan()
    defer { storage.housekeeping?.commitEnded(edits: edits.count) }
    let receipt = try backend.commitAndWait(edits, min(.process, storage.strongest))
    last = receipt.commit
    return receipt
  }

  private func commit(
    _ groups: [EditGroup], _ prepare: () -> Void, _ willStore: ([StorageEdit]) -> Void
  ) {
    prepare()
    let edits = groups.flatMap(\.edits)
    willStore(edits)
    let attempt: CommitAttempt
    let failure: StoreError
    do throws(StoreError) {
      attempt = try begin(edits)
      do throws(StoreError) {
        let receipt = try commitNow(edits)
        return finish(groups, receipt.commit, receipt.writes, receipt.queries)
      } catch { failure = error }
    } catch {
      return commitEach(groups, prepare, willStore, after: error)
    }
    let doubt = InDoubtCommit(groups: groups, attempt: attempt, error: failure)
    do throws(StoreError) {
      guard try !resolve(doubt) else { return }
    } catch {
      if attempt.isAppRequest { return inDoubtCommits.append(doubt) }
    }
    commitEach(groups, prepare, willStore, after: failure)
  }

  /// Commits each group alone. A single group has failed already.
  private func commitEach(
    _ groups: [EditGroup], _ prepare: () -> Void, _ willStore: ([StorageEdit]) -> Void,
    after error: StoreError
  ) {
    guard groups.count > 1 else {
      for group in groups { group.then(.failure(error)) }
      return
    }
    for group in groups { commit([group], prepare, willStore) }
  }

  /// A commit was made: tells who asked for it.
  private func finish(
    _ groups: [EditGroup], _ commit: CommitID, _ writes: [WriteID], _ queries: [QueryID]
  ) {
    var (writes, queries) = (writes[...], queries[...])
    var left = writes
    for case .enqueue(let lane, _) in groups.lazy.flatMap(\.edits) {
      if let id = left.popFirst() { newest[lane] = id }
    }
    for group in groups {
      let count = group.numbers
      group.then(
        .success(
          Numbers(
            commit: commit, writes: writes.prefix(count.writes),
            queries: queries.prefix(count.queries))))
      writes = writes.dropFirst(count.writes)
      queries = queries.dropFirst(count.queries)
    }
  }
}

// MARK: Commits that are reported as failed

extension Outbox {
  /// Whether it is not known of some commit whether it was made.
  package var hasInDoubtCommits: Bool { !inDoubtCommits.isEmpty }

  /// Finds out what the store has of commits that were reported as failed, and tells who asked for them.
  ///
  /// - Throws: when that cannot be read, or nothing can be stored; it may be called again.
  package func resolveInDoubtCommits() throws(StoreError) {
    while let doubt = inDoubtCommits.first {
      let isMade = try resolve(doubt)
      inDoubtCommits.removeFirst()
      if !isMade { for group in doubt.groups { group.then(.failure(doubt.error)) } }
    }
  }

  /// Another process may have queued writes while the storage was suspended.
  package func storeChanged() { newest = [:] }

  /// The storage is closed: who asked for commits in doubt is told so.
  package func failInDoubtCommits() {
    let error = StoreError(
      .closed, "The database was closed before it was known whether this was stored.")
    for group in inDoubtCommits.flatMap(\.groups) { group.then(.failure(error)) }
    inDoubtCommits = []
  }

  /// Remembers what is needed to recognize a commit later.
  ///
  /// - Throws: what keeps the edits from being committed.
  private func begin(_ edits: [StorageEdit]) throws(StoreError) -> CommitAttempt {
    var before: [Lane: WriteID?] = [:]
    for case .enqueue(let lane, _) in edits where before[lane] == nil {
      // The outcome of earlier commits must be known first, or their writes would be taken for
      // those of this one.
      try resolveInDoubtCommits()
      if newest[lane] == nil {
        newest[lane] = .some(try read { (view) throws(StoreError) in try view.totals(lane).newest })
      }
      before[lane] = newest[lane]
    }
    return CommitAttempt(edits: edits, newest: before)
  }

  /// Tells who asked for a commit, if the store has it.
  ///
  /// - Returns: whether it has.
  /// - Throws: when that cannot be read, or nothing can be stored.
  private func resolve(_ doubt: InDoubtCommit) throws(StoreError) -> Bool {
    // The store makes no part of a commit that it refuses as invalid.
    guard doubt.attempt.isRecognizable, doubt.error.code != .invalid else { return false }
    let tree = storage.tree
    let (finding, trial) = try read { (view) throws(StoreError) in
      (try doubt.attempt.look(in: view), try view.metadata(tree, Self.probeName))
    }
    guard case .made(let writes, let queries) = finding else { return false }
    // When this later commit is durable, so is the one that was found.
    let edit = StorageEdit.setMetadata(tree, Self.probeName, trial == nil ? [1] : nil)
    finish(doubt.groups, try commitNow([edit]).commit, writes, queries)
    return true
  }

  private func read<R>(
    _ body: (any StorageView) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    guard let backend = storage.backend else {
      throw StoreError(.closed, "The database has no open storage. Open the database again.")
    }
    return try backend.read(body)
  }
}
