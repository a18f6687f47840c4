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

  /// The requests that have no answer, in order: what comes before it was meant for an earlier listen.
  private var requests: [Request] = []
  private var changes: [DocumentPath: Change] = [:]
  private var resumeToken: [UInt8] = []
  private(set) var isCurrent = false
  /// Whether the next snapshot is to name the target.
  private(set) var hasPendingChanges = true

  /// A target that the server has just been asked for anew, and of which it has said nothing.
  static var added: TargetState {
    var state = TargetState()
    state.hasPendingChanges = false
    return state
  }

  var isPending: Bool { !requests.isEmpty }

  mutating func sent(_ request: Request) { requests.append(request) }

  /// The server answered the oldest request of a kind, and so those before it; an answer to none changes nothing.
  mutating func answered(_ request: Request) {
    if let index = requests.firstIndex(of: request) { requests.removeSubrange(...index) }
  }

  /// The server refused the target, or ended it.
  ///
  /// - Returns: whether that is of the newest listen. An earlier one needs no answer to its removal any more; one that
  ///   comes all the same is passed over, as no removal waits for it.
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

  /// Notes a change; nil takes an earlier one back.
  mutating func note(_ change: Change?, of path: DocumentPath) {
    changes[path] = change
    hasPendingChanges = true
  }

  /// What changed until now is void.
  mutating func forgetChanges() {
    changes = [:]
    hasPendingChanges = false
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
