import ConiferDocument

/// What a stream has said of one target since the last snapshot.
struct TargetState: Sendable {
  /// What happened to a document.
  enum Change: Sendable {
    case added, modified, removed
  }

  /// What the server is asked of a target.
  enum Request: Sendable {
    case add, remove
  }

  /// Tells this state from earlier ones of the target: what was noted under theirs is void.
  let number: Int
  /// The requests without an answer, in order. Messages before the answers belong to an earlier
  /// listen.
  private var requests: [Request] = []
  private var resumeToken: [UInt8] = []
  private(set) var isCurrent = false
  /// The first snapshot in which the target was current.
  private(set) var completeSince: Timestamp?
  /// Whether the next snapshot is to name the target.
  private(set) var hasPendingChanges: Bool
  /// How many documents more there are than at the last snapshot.
  private(set) var growth = 0

  /// A target of which nothing was said.
  ///
  /// - Parameters:
  ///   - number: greater than that of each earlier state.
  ///   - hasPendingChanges: false when the server has just been asked for it anew.
  init(_ number: Int, hasPendingChanges: Bool = true) {
    self.number = number
    self.hasPendingChanges = hasPendingChanges
  }

  var isPending: Bool { !requests.isEmpty }

  mutating func sent(_ request: Request) { requests.append(request) }

  /// The server answered the oldest request of a kind, and so those before it; an answer to none changes nothing.
  mutating func answered(_ request: Request) {
    if let index = requests.firstIndex(of: request) { requests.removeSubrange(...index) }
  }

  /// The server refused the target, or ended it.
  ///
  /// - Returns: whether the refusal is of the newest listen. After a refusal of an earlier listen,
  ///   no answer to its removal is expected; one that comes is ignored.
  mutating func refused() -> Bool {
    guard requests.contains(.remove) else { return true }
    answered(.remove)
    return false
  }

  mutating func take(token: [UInt8]) {
    guard !token.isEmpty else { return }
    resumeToken = token
    hasPendingChanges = true
  }

  mutating func becomeCurrent() {
    isCurrent = true
    hasPendingChanges = true
  }

  /// A change of a document was noted; nil when it came and went.
  ///
  /// - Parameter earlier: what was noted of it before.
  mutating func noted(_ change: Change?, insteadOf earlier: Change?) {
    growth += (change?.growth ?? 0) - (earlier?.growth ?? 0)
    hasPendingChanges = true
  }

  /// Takes what the next snapshot says of the target; the documents that changed are put in by the caller.
  ///
  /// - Parameter version: the moment of the snapshot.
  mutating func takeChange(at version: Timestamp) -> TargetChange {
    growth = 0
    if isCurrent, completeSince == nil { completeSince = version }
    hasPendingChanges = false
    return TargetChange(resumeToken: resumeToken, isCurrent: isCurrent)
  }
}

extension TargetState.Change {
  /// How many documents more there are.
  fileprivate var growth: Int {
    switch self {
    case .added: 1
    case .modified: 0
    case .removed: -1
    }
  }
}
