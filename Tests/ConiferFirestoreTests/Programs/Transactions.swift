import ConiferDocument
import ConiferFirestore
import Synchronization

/// Transactions of a client that each add one to a counter, and how they ended.
final class Transactions: Sendable {
  private enum End: Sendable {
    case made, conflict, failed, unknown
  }

  struct State: Sendable {
    var open = 0
    var made = 0
    /// The connection broke behind the commit.
    var unknown = 0
  }

  private let state = Mutex(State())

  var now: State { state.withLock { $0 } }

  func begin(_ engine: FirestoreEngine) {
    state.withLock { $0.open += 1 }
    Task { await run(engine) }
  }

  private func run(_ engine: FirestoreEngine) async {
    var end = End.conflict
    for _ in 0..<5 where end == .conflict { end = await attempt(engine) }
    state.withLock { state in
      state.open -= 1
      if end == .made { state.made += 1 }
      if end == .unknown { state.unknown += 1 }
    }
  }

  private func attempt(_ engine: FirestoreEngine) async -> End {
    guard let path = try? DocumentPath("counters/t"),
      let document = try? await engine.lookup([path]).first
    else { return .failed }
    var count: Int64 = 0
    if case .integer(let number) = document.fields?["n"] { count = number }
    let write = Mutation(
      path, .set(["n": .integer(count + 1)], []),
      if: document.fields == nil ? .exists(false) : .updateTime(document.version))
    do throws(FirestoreError) {
      try await engine.commit([write])
      return .made
    } catch {
      switch error.code {
      case .aborted, .failedPrecondition, .alreadyExists: return .conflict
      default: return .unknown
      }
    }
  }
}
