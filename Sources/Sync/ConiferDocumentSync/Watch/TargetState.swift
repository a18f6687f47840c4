import ConiferDocument

/// What a stream has said of one target since the last snapshot.
struct TargetState: Sendable {
  /// What happened to a document.
  enum Change: Sendable {
    case added, modified, removed
  }

  /// How many requests to add or remove the target have no answer: what comes before it was meant for
  /// an earlier listen.
  private(set) var pendingAnswers = 0
  private var changes: [DocumentPath: Change] = [:]
  private var resumeToken: [UInt8] = []
  private(set) var isCurrent = false
  /// Whether the next snapshot is to name the target.
  private(set) var hasNews = true

  /// A target that the server has just been asked for anew, and of which it has said nothing.
  static var added: TargetState {
    var state = TargetState()
    state.hasNews = false
    return state
  }

  var isPending: Bool { pendingAnswers > 0 }

  mutating func requestSent() { pendingAnswers += 1 }

  /// The server answered a request; one more than there were requests changes nothing.
  mutating func requestAnswered() { pendingAnswers = max(0, pendingAnswers - 1) }

  mutating func take(token: [UInt8]) {
    guard !token.isEmpty else { return }
    resumeToken = token
    hasNews = true
  }

  mutating func becomeCurrent() {
    isCurrent = true
    hasNews = true
  }

  /// Notes a change; nil takes an earlier one back.
  mutating func note(_ change: Change?, of path: DocumentPath) {
    changes[path] = change
    hasNews = true
  }

  /// What changed until now is void.
  mutating func forgetChanges() {
    changes = [:]
    hasNews = false
  }

  /// How many documents more there are than before.
  var growth: Int {
    changes.values.reduce(0) {
      switch $1 {
      case .added: $0 + 1
      case .modified: $0
      case .removed: $0 - 1
      }
    }
  }

  /// What the next snapshot says of the target.
  var targetChange: TargetChange {
    var change = TargetChange(resumeToken: resumeToken, isCurrent: isCurrent)
    let added = changes.values.reduce(0) { $0 + ($1 == .added ? 1 : 0) }
    change.added.reserveCapacity(added)
    for (path, kind) in changes {
      switch kind {
      case .added: change.added.insert(path)
      case .modified: change.modified.insert(path)
      case .removed: change.removed.insert(path)
      }
    }
    return change
  }
}
