import ConiferKeyValue
import Synchronization
import TestSupport

/// Which uses of a store fail, as a test says.
final class DiskFaults: Sendable {
  /// How often uses fail, in a hundred.
  struct Chances: Sendable {
    var commits = 0
    var reads = 0
    /// Of the commits that fail, those that are made all the same.
    var made = 0
    /// Whether all reads fail from the first commit on that fails.
    var endsReads = false
  }

  private struct State {
    var chances = Chances()
    var random: Seeded
    var isPaused = false
    var failures = 0
  }

  private let state: Mutex<State>
  /// What counts commits, and ends all uses with one of them.
  let death: Death?

  /// - Parameter seed: decides which uses fail.
  init(seed: UInt64 = 0, _ death: Death? = nil) {
    state = Mutex(State(random: Seeded(seed)))
    self.death = death
  }

  /// From now on so many uses fail.
  func fail(_ chances: Chances) { state.withLock { $0.chances = chances } }

  /// Nothing fails any more.
  func heal() { fail(Chances()) }

  /// Nothing fails while something is done.
  func pausing<R>(_ body: () async throws -> R) async rethrows -> R {
    state.withLock { $0.isPaused = true }
    defer { state.withLock { $0.isPaused = false } }
    return try await body()
  }

  func read() throws(StoreError) { try use { $0.reads } }

  /// - Returns: whether the commit is to be made, and to fail behind it.
  func commit() throws(StoreError) -> Bool {
    do throws(StoreError) {
      try use { $0.commits }
      return false
    } catch {
      state.withLock { if $0.chances.endsReads { $0.chances.reads = 100 } }
      guard isNext({ $0.made }) else { throw error }
      return true
    }
  }

  /// How many uses have failed.
  var failures: Int { state.withLock { $0.failures } }

  /// Whether uses may fail now.
  var isFailing: Bool { state.withLock { $0.chances.commits > 0 || $0.chances.reads > 0 } }

  private func use(_ chance: (Chances) -> Int) throws(StoreError) {
    if isNext(chance) {
      state.withLock { $0.failures += 1 }
      throw Self.failure
    }
  }

  private func isNext(_ chance: (Chances) -> Int) -> Bool {
    state.withLock { state in
      let percent = chance(state.chances)
      // Nothing is drawn while nothing fails, so that healthy times do not change what comes.
      return !state.isPaused && percent > 0 && state.random.chance(percent)
    }
  }

  static let failure = StoreError(.io, "The disk fails, as the test asked for.")
}
