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

  private var groups: [EditGroup] = []
  private var calls: [@Sendable () -> Void] = []
  private let storage: EngineStorage
  private let callbackQueue: CallbackQueue
  /// Whether no action may be carried out before the next commit, as what follows from the action
  /// must find it stored.
  package private(set) var holdsActions = false

  /// The most groups that share a commit.
  private static let largestCommit = 256

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

  /// Hands the calls of the app to its queue, in order.
  package func callApp() {
    guard !calls.isEmpty else { return }
    callbackQueue.async { [calls] in for call in calls { call() } }
    calls = []
  }

  /// Commits what waits: together, or each group alone when that fails.
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
    return try backend.commitAndWait(edits, min(.process, storage.strongest))
  }

  private func commit(
    _ groups: [EditGroup], _ prepare: () -> Void, _ willStore: ([StorageEdit]) -> Void
  ) {
    prepare()
    do throws(StoreError) {
      let edits = groups.flatMap(\.edits)
      willStore(edits)
      let receipt = try commitNow(edits)
      var (writes, queries) = (receipt.writes[...], receipt.queries[...])
      for group in groups {
        let count = group.numbers
        group.then(
          .success(
            Numbers(
              commit: receipt.commit, writes: writes.prefix(count.writes),
              queries: queries.prefix(count.queries))))
        writes = writes.dropFirst(count.writes)
        queries = queries.dropFirst(count.queries)
      }
    } catch {
      guard groups.count > 1 else {
        for group in groups { group.then(.failure(error)) }
        return
      }
      for group in groups { commit([group], prepare, willStore) }
    }
  }
}
