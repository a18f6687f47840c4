import ConiferKeyValue
import ConiferStorage
import ConiferSync

/// Edits that belong together, and what follows when they are stored or cannot be.
struct CommitUnit {
  /// The numbers that a commit gave.
  struct Numbers {
    let commit: CommitID
    let writes: ArraySlice<WriteID>
    let queries: ArraySlice<QueryID>
  }

  let edits: [StorageEdit]
  /// Called on the engine, in the order of the units.
  let done: (Result<Numbers, StoreError>) -> Void

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

extension Engine {
  /// Adds edits to the next commit.
  func add(
    _ edits: [StorageEdit], _ done: @escaping (Result<CommitUnit.Numbers, StoreError>) -> Void
  ) {
    units.append(CommitUnit(edits: edits, done: done))
  }

  /// Commits the units that wait: together, or each alone when that fails.
  func commitUnits() {
    guard !units.isEmpty else { return }
    let group = units
    units = []
    endsCommit = false
    newRecords = []
    commit(group)
  }

  private func commit(_ group: [CommitUnit]) {
    storeEnds()
    do throws(StoreError) {
      let receipt = try commit(group.flatMap(\.edits))
      var (writes, queries) = (receipt.writes[...], receipt.queries[...])
      for unit in group {
        let count = unit.numbers
        unit.done(
          .success(
            CommitUnit.Numbers(
              commit: receipt.commit, writes: writes.prefix(count.writes),
              queries: queries.prefix(count.queries))))
        writes = writes.dropFirst(count.writes)
        queries = queries.dropFirst(count.queries)
      }
    } catch {
      guard group.count > 1 else {
        for unit in group { unit.done(.failure(error)) }
        return
      }
      for unit in group { commit([unit]) }
    }
  }

  /// Applies edits so that they survive the process, as far as the storage can; on this thread, unless
  /// the store is busy with a sync or an eviction.
  private func commit(_ edits: [StorageEdit]) throws(StoreError) -> CommitReceipt {
    guard let backend else { throw StoreError(.closed, "The database has no storage.") }
    guard !edits.isEmpty else { return CommitReceipt(commit: CommitID(rawValue: 0)) }
    if let queuedValues, !edits.allSatisfy(queuedValues.holds) { self.queuedValues = nil }
    return try backend.commitAndWait(edits, min(.process, backend.traits.store.strongest))
  }

  /// Tries again to store how writes ended, where that failed before.
  private func storeEnds() {
    for (id, edits) in writes.unstoredEnds {
      do throws(StoreError) {
        _ = try commit(edits)
      } catch {
        // The store refuses it as invalid: the write has ended already, or is gone.
        guard error.code == .invalid else { continue }
      }
      writes.stored(id)
      tell(.finished(id))
    }
  }
}

/// Who waits until a commit is durable.
struct Hardening {
  typealias Answer = @Sendable (Result<Durability, DatabaseError>) -> Void

  var waiting: [(commit: CommitID, answer: Answer)] = []
  var isRunning = false
}

extension Engine {
  /// Tells when a commit survives power loss, as far as the storage can; runs beside the steps.
  func harden(_ commit: CommitID, _ answer: @escaping Hardening.Answer) {
    guard let backend else { return }
    guard backend.traits.store.strongest == .power else {
      return answer(.success(backend.traits.store.strongest))
    }
    hardening.waiting.append((commit, answer))
    guard !hardening.isRunning else { return }
    hardening.isRunning = true
    Task(executorPreference: thread) { await self.harden(backend) }
  }

  private func harden(_ backend: any StorageBackend) async {
    while let last = hardening.waiting.last {
      let batch = hardening.waiting
      hardening.waiting = []
      var result: Result<Durability, DatabaseError> = .success(.power)
      do throws(StoreError) {
        try await backend.harden(last.commit)
      } catch {
        result = .failure(
          DatabaseError(error, "The write is queued, but may not survive power loss"))
      }
      for entry in batch { entry.answer(result) }
    }
    hardening.isRunning = false
  }
}
