import ConiferWire
import Synchronization

/// The answers to commits that were requested together. They are returned together when the last
/// one has come.
final class CommitAnswers: Sendable {
  typealias Answer = Result<MadeCommit, StatusError>

  private let answers: Mutex<[Int: Answer]> = Mutex([:])
  private let count: Int
  private let completion: @Sendable ([Answer]) -> Void

  init(_ count: Int, _ completion: @escaping @Sendable ([Answer]) -> Void) {
    self.count = count
    self.completion = completion
    if count == 0 { completion([]) }
  }

  /// Takes in an answer; there is one for each place.
  func add(_ answer: Answer, at place: Int) {
    let all = answers.withLock { answers -> [Answer]? in
      answers[place] = answer
      return answers.count == count ? (0..<count).compactMap { answers[$0] } : nil
    }
    if let all { completion(all) }
  }
}
