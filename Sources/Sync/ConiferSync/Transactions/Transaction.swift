import ConiferTree

/// A transaction that has not ended.
struct Transaction: Sendable {
  enum Phase: Sendable {
    /// The function is to run, at first or again.
    case waiting
    /// The function runs over a node.
    case running(Node)
    /// There is a result to be sent.
    case ready
    /// It was sent and not answered.
    case sent
  }

  let id: TransactionID
  /// Its number among the transactions of this run, in the order in which they began.
  let order: UInt64
  let path: Path
  let isVisible: Bool
  /// When it was begun, among all that was issued.
  let position: LanePosition
  var phase = Phase.waiting
  /// How often it was sent.
  var attempts = 0
  /// The node that gave the result.
  var input = Node.empty
  /// The function's result as it is sent.
  var output: Node?
  /// The result as views show it.
  var resolved = Node.empty
  /// The position of its newest write over the views.
  var writePosition: LanePosition?
  /// The status with which it ends if the server refuses the put that was sent.
  var ending: LocalStatus?

  var isWaiting: Bool { if case .waiting = phase { true } else { false } }
  var isReady: Bool { if case .ready = phase { true } else { false } }
}

/// A put that is under way.
struct SentPut: Sendable {
  let path: Path
  let ids: [TransactionID]
}
