import ConiferDocument
import ConiferFirestore
import Synchronization

/// What an engine called the app back with, since the last step began.
final class ScenarioLog: Sendable {
  struct Entries: Sendable {
    var events: [ScenarioEvent] = []
    /// The documents of writes, in the order in which these ended.
    var acknowledged: [String] = []
    var rejected: [String] = []
    var inSyncCalls = 0
    var pendingWritesCalls = 0
    /// What failed that no case has fail.
    var failures: [String] = []
  }

  private struct State {
    var entries = Entries()
    /// The numbers of the writes that were rejected, since the beginning.
    var rejectedWrites: Set<Int> = []
  }

  private let state = Mutex(State())

  /// What was logged since the last call.
  func take() -> Entries {
    state.withLock { state in
      defer { state.entries = Entries() }
      return state.entries
    }
  }

  func told(_ query: DocumentQuery, _ result: Result<ListenEvent, FirestoreError>) {
    let event =
      switch result {
      case .success(let event): ScenarioEvent(event.snapshot)
      case .failure(let error): ScenarioEvent(query, error: error.code.rawValue)
      }
    state.withLock { $0.entries.events.append(event) }
  }

  func ended(_ number: Int, _ mutation: Mutation, _ error: FirestoreError?) {
    state.withLock { state in
      if error == nil {
        state.entries.acknowledged.append(mutation.path.description)
      } else {
        state.entries.rejected.append(mutation.path.description)
        state.rejectedWrites.insert(number)
      }
    }
  }

  func isRejected(_ number: Int) -> Bool { state.withLock { $0.rejectedWrites.contains(number) } }

  func toldInSync() { state.withLock { $0.entries.inSyncCalls += 1 } }

  /// Who waits for pending writes is told; an error is what a change of user gives.
  func pendingWritesEnded(_ error: FirestoreError?) {
    if error == nil { state.withLock { $0.entries.pendingWritesCalls += 1 } }
  }

  func failed(_ what: String, _ error: FirestoreError?) {
    guard let error else { return }
    state.withLock { $0.entries.failures.append("\(what) failed: \(error)") }
  }
}
