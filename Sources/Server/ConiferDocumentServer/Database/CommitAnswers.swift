import ConiferWire
import Synchronization

/// The answers to commits that were asked for together; told when the last one is there.
final class CommitAnswers: Sendable {
  typealias Answer = Result<MadeCommit, StatusError>

  private let answers: Mutex<[Int: Answer]> = Mutex([:])
  private let count: Int
  private let told: @Sendable ([Answer]) -> Void

  init(_ count: Int, _ told: @escaping @Sendable ([Answer]) -> Void) {
    self.count = count
    self.told = told
    if count == 0 { told([]) }
  }

  /// Takes in an answer; there is one for each place.
  func add(_ answer: Answer, at place: Int) {
    let all = answers.withLock { answers -> [Answer]? in
      answers[place] = answer
      return answers.count == count ? (0..<count).compactMap { answers[$0] } : nil
    }
    if let all { told(all) }
  }
}
