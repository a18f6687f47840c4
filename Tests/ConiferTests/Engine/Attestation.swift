import Synchronization

@testable import Conifer

/// A provider of the app's own tokens that a test controls.
final class Attestation: AppCheckProvider {
  /// What it throws; its words hold a token, as a careless provider's may.
  struct Unavailable: Error, CustomStringConvertible {
    var description: String { "no answer to the token secret" }
  }

  private struct State {
    var text: String? = "one"
    var asked: [Bool] = []
    var isHolding = false
    var held: [Int: CheckedContinuation<Void, Never>] = [:]
    var cancelled: Set<Int> = []
  }

  private let state = Mutex(State())

  /// Whether each question was for another token.
  var asked: [Bool] { state.withLock { $0.asked } }
  /// How many questions have no answer; those that nobody waits for any more are not counted.
  var held: Int { state.withLock { $0.held.count } }
  /// How many questions were given up.
  var cancelled: Int { state.withLock { $0.cancelled.count } }

  /// Gives another token from now on; nil to fail.
  func set(_ text: String?) { state.withLock { $0.text = text } }

  /// Answers no question from now on.
  func hold() { state.withLock { $0.isHolding = true } }
  /// Answers the questions that come from now on.
  func stopHolding() { state.withLock { $0.isHolding = false } }

  func token(forcingRefresh: Bool) async throws -> AppCheckToken {
    let number = state.withLock { state in
      state.asked.append(forcingRefresh)
      return state.asked.count
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let goesOn = state.withLock { state in
          guard state.isHolding, !state.cancelled.contains(number) else { return true }
          state.held[number] = continuation
          return false
        }
        if goesOn { continuation.resume() }
      }
    } onCancel: {
      let held = state.withLock { state in
        state.cancelled.insert(number)
        return state.held.removeValue(forKey: number)
      }
      held?.resume()
    }
    try Task.checkCancellation()
    guard let text = state.withLock({ $0.text }) else { throw Unavailable() }
    return AppCheckToken(text)
  }
}
