/// The questions to a token provider that are under way, by their numbers.
///
/// A question that took too long is not waited for, but its answer counts unless that to a later one came first.
struct TokenQuestions {
  private struct Question {
    /// Whether the answer tells who is signed in.
    var isIdentification: Bool
    /// Whether a token is asked for that the provider does not have yet.
    let isForced: Bool
    let began: Int64
    var isLate = false
  }

  private var asked: [UInt64: Question] = [:]
  private var last: UInt64 = 0

  /// Whether an answer is waited for.
  var isAwaited: Bool { asked.values.contains { !$0.isLate } }
  /// Whether an answer is waited for that tells who is signed in.
  var identify: Bool { asked.values.contains { $0.isIdentification && !$0.isLate } }
  /// Whether an answer is waited for with a token that the provider does not have yet.
  var isForced: Bool { asked.values.contains { $0.isForced && !$0.isLate } }
  /// When the oldest question was asked whose answer is waited for.
  var oldest: Int64? { asked.values.lazy.filter { !$0.isLate }.map(\.began).min() }

  mutating func add(isIdentification: Bool, isForced: Bool, at now: Int64) -> UInt64 {
    last += 1
    asked[last] = Question(isIdentification: isIdentification, isForced: isForced, began: now)
    return last
  }

  /// A question was answered, and so all that were asked before.
  ///
  /// - Returns: whether the answer tells who is signed in, whether it gives a token that the provider did not have yet, and
  ///   whether it came late; nil when a later question was answered already, or it does not count any longer.
  mutating func end(
    through number: UInt64, _ ended: (UInt64) -> Void
  ) -> (isIdentification: Bool, isForced: Bool, isLate: Bool)? {
    guard let question = asked[number] else { return nil }
    let old = asked.filter { $0.key <= number }
    for key in old.keys {
      asked[key] = nil
      ended(key)
    }
    return (old.values.contains { $0.isIdentification }, question.isForced, question.isLate)
  }

  /// It is known who is signed in; answers that are still to come give tokens alone.
  mutating func identified() { for key in asked.keys { asked[key]?.isIdentification = false } }

  /// Questions that were asked at a time, or before, have taken too long.
  ///
  /// - Returns: whether they were to tell who is signed in, nil when there are none; and those that took too long even
  ///   before, whose answers do not count any longer.
  mutating func becomeLate(
    since moment: Int64
  ) -> (isIdentification: Bool?, forgotten: [UInt64]) {
    let new = asked.filter { !$0.value.isLate && $0.value.began <= moment }
    guard !new.isEmpty else { return (nil, []) }
    let forgotten = asked.filter(\.value.isLate).map(\.key)
    for key in forgotten { asked[key] = nil }
    for key in new.keys { asked[key]?.isLate = true }
    return (new.values.contains { $0.isIdentification }, forgotten)
  }

  /// No answer counts any longer; gives the numbers of the questions.
  mutating func forgetAll() -> [UInt64] {
    defer { asked = [:] }
    return Array(asked.keys)
  }
}
