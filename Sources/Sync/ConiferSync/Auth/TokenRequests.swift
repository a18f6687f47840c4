/// The numbered requests to the app's token provider, and which answers still count.
struct TokenRequests: Sendable {
  /// The number of the newest request.
  private(set) var newest: UInt64 = 0
  /// Answers to requests before this number are out of date.
  private var oldestValid: UInt64 = 1
  /// Whether the newest request was for another token than the one there is.
  private(set) var isForced = false
  /// Since when a request is under way.
  private(set) var since: Milliseconds?
  /// How often the provider failed in a row.
  private(set) var failures = 0

  /// Begins a request; `isReplacing` makes the answers to all earlier ones out of date.
  mutating func begin(at now: Milliseconds, isForced: Bool, isReplacing: Bool) {
    since = now
    newest += 1
    self.isForced = isForced
    if isReplacing { oldestValid = newest }
  }

  /// Whether an answer counts.
  ///
  /// A late answer counts unless a newer one came first; a failure counts only for the newest request.
  func isCurrent(_ answer: TokenAnswer, to request: UInt64) -> Bool {
    if case .failed = answer, request != newest { return false }
    return request >= oldestValid
  }

  /// Takes note of an answer that counts: one that says who is signed in makes all earlier requests out of
  /// date.
  mutating func noteAnswer(_ answer: TokenAnswer, to request: UInt64) {
    if case .failed = answer { return }
    oldestValid = request + 1
  }

  mutating func succeed() {
    since = nil
    failures = 0
  }

  mutating func fail() {
    since = nil
    failures += 1
  }
}
