import ConiferFirestore
import Foundation
import Synchronization

/// Counts what listeners hear, and tells when it was enough.
final class Ear: Sendable {
  private struct State {
    var heard = 0
    var wanted = 0
    var documents = 0
    var last = ContinuousClock.now
    var fault: String?
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  /// From now on so many calls are waited for.
  func expect(_ count: Int) {
    state.withLock { state in
      (state.heard, state.wanted, state.documents) = (0, count, 0)
    }
  }

  /// A listener was called.
  ///
  /// - Parameter documents: how many it was given.
  func hear(_ documents: Int = 0) { note { $0.documents += documents } }

  /// A listener was told an error.
  func hear(_ fault: any Error) { note { $0.fault = "\(fault)" } }

  private func note(_ change: (inout State) -> Void) {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      change(&state)
      state.heard += 1
      guard state.heard == state.wanted else { return nil }
      state.last = .now
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  /// Waits for the calls that are expected.
  ///
  /// - Returns: when the last one came, and how many documents all were given.
  /// - Throws: when a listener was told an error.
  func wait() async throws -> (at: ContinuousClock.Instant, documents: Int) {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        guard state.heard < state.wanted else { return true }
        state.waiter = continuation
        return false
      }
      if isOver { continuation.resume() }
    }
    let (last, documents, fault) = state.withLock { ($0.last, $0.documents, $0.fault) }
    if let fault { throw BenchmarkFailure.lost("a listener", "what it listens to: \(fault)") }
    return (last, documents)
  }
}

extension Ear {
  /// Listens to collections at once until each has its event.
  ///
  /// - Parameters:
  ///   - wanted: how many documents they have.
  ///   - isCounted: whether a snapshot counts.
  func listen(
    to paths: [String], of firestore: Firestore, documents wanted: Int,
    where isCounted: @escaping @Sendable (QuerySnapshot) -> Bool = { _ in true }
  ) async throws {
    expect(paths.count)
    let listeners = paths.map { firestore.collection($0).listen(self, where: isCounted) }
    let found = try await wait().documents
    for listener in listeners { listener.remove() }
    guard found == wanted else {
      throw BenchmarkFailure.lost(
        "a listener", "\(wanted - found) documents of \(paths.count) queries")
    }
  }
}

extension Query {
  /// Listens, and has an ear hear each snapshot.
  ///
  /// - Parameter isCounted: whether a snapshot counts.
  func listen(
    _ ear: Ear, where isCounted: @escaping @Sendable (QuerySnapshot) -> Bool = { _ in true }
  ) -> any ListenerRegistration {
    addSnapshotListener { snapshot, error in
      if let error { return ear.hear(error) }
      // Documents as an app gets them.
      if let snapshot, isCounted(snapshot) { ear.hear(snapshot.documents.count) }
    }
  }
}
