package import ConiferKeyValue
package import ConiferStorage

/// What the parts of an engine ask for in a step: edits to commit and calls of the app, each in order.
///
/// The engine alone does them, when the step ends. Edits that are asked for together are stored together;
/// those of a step share a commit.
package final class Outbox {
  /// The numbers that a commit gave to what one part asked for.
  package struct Numbers {
    package let commit: CommitID
    package let writes: ArraySlice<WriteID>
    package let queries: ArraySlice<QueryID>
  }

  package typealias Stored = Result<Numbers, StoreError>

  /// Edits that belong together, and what follows when they are stored or cannot be.
  private struct Unit {
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

  private var units: [Unit] = []
  private var calls: [@Sendable () -> Void] = []
  /// Whether the next commit ends with what it has, as what follows must see that stored.
  package private(set) var isSealed = false

  package init() {}

  /// How many units wait for the next commit.
  package var unitCount: Int { units.count }

  /// Has edits stored with the next commit.
  ///
  /// - Parameter then: called behind the commit, in the order in which commits were asked for.
  package func commit(_ edits: [StorageEdit], then: @escaping (Stored) -> Void = { _ in }) {
    units.append(Unit(edits: edits, then: then))
  }

  /// Has something done behind what waits for the next commit, whether that is stored or not.
  package func afterCommit(_ body: @escaping () -> Void) { commit([]) { _ in body() } }

  /// Ends the next commit with what it has.
  package func seal() { isSealed = true }

  /// Has the app called behind the step.
  package func call(_ body: @escaping @Sendable () -> Void) { calls.append(body) }

  /// Takes the calls of the app.
  package func takeCalls() -> [@Sendable () -> Void] {
    defer { calls = [] }
    return calls
  }

  /// Commits what waits: together, or each unit alone when that fails.
  ///
  /// - Parameters:
  ///   - before: called before each attempt.
  ///   - commit: commits edits.
  package func commitUnits(
    before: () -> Void, _ commit: ([StorageEdit]) throws(StoreError) -> CommitReceipt
  ) {
    let group = units
    units = []
    isSealed = false
    if !group.isEmpty { self.commit(group, before, commit) }
  }

  private func commit(
    _ group: [Unit], _ before: () -> Void,
    _ commit: ([StorageEdit]) throws(StoreError) -> CommitReceipt
  ) {
    before()
    do throws(StoreError) {
      let receipt = try commit(group.flatMap(\.edits))
      var (writes, queries) = (receipt.writes[...], receipt.queries[...])
      for unit in group {
        let count = unit.numbers
        unit.then(
          .success(
            Numbers(
              commit: receipt.commit, writes: writes.prefix(count.writes),
              queries: queries.prefix(count.queries))))
        writes = writes.dropFirst(count.writes)
        queries = queries.dropFirst(count.queries)
      }
    } catch {
      guard group.count > 1 else {
        for unit in group { unit.then(.failure(error)) }
        return
      }
      for unit in group { self.commit([unit], before, commit) }
    }
  }
}
