package import ConiferTree
package import ConiferWire

/// Runs transactions: decides when the app's function runs, over which data, and when its result is
/// sent.
///
/// It has no effects: it is told what happens, and returns what is to be done. Its rules are those of
/// the Realtime Database's SDKs, with two differences. The app's function runs elsewhere, one at a
/// time, and its input is compared again when it returns. Puts are made only while they can be sent,
/// over the data at that time.
///
/// - Transactions at, above and below one another run in the order in which they were begun, each
///   over what the earlier ones wrote, and are sent together as one put, one put at a time.
/// - A put is refused when the data is not what the functions saw; then they run again, at most
///   `maxAttempts` puts in all.
/// - A set or an update at, above or below a transaction ends it; when it was sent, the server's
///   answer counts.
/// - A put that was sent and not answered when the connection breaks ends its transactions.
package struct TransactionMachine: Sendable {
  /// How often a transaction may be sent.
  package static let maxAttempts = 25

  /// What the app's function decided.
  package enum Decision: Hashable, Sendable {
    /// Writes a node, which may hold server values.
    case write(Node)
    /// Gives up.
    case abort
  }

  /// What the machine is told.
  package enum Input: Sendable {
    /// The app began a transaction.
    ///
    /// - isVisible: whether listeners see its result before the server confirmed it.
    /// - position: when it was begun, among all that was issued.
    case start(TransactionID, Path, isVisible: Bool, position: LanePosition)
    /// The app's function returned.
    ///
    /// - writePosition: the position of the write that it makes, newer than all others.
    /// - serverTime: the server's time in milliseconds since 1970.
    case ran(TransactionID, Decision, writePosition: LanePosition, serverTime: Int64)
    /// The server answered a put.
    ///
    /// - isDataMissing: as in `ConnectionAction.writeAnswered`.
    case putAnswered(OperationID, Response, isDataMissing: Bool = false)
    /// A put ended without an answer.
    case putGivenUp(OperationID, LocalStatus)
    /// A put was not sent, or was refused for want of a valid token.
    case putReturned(OperationID)
    /// Puts can be sent from now on, or no longer.
    case writable(Bool)
    /// What views show at or below a path changed, other than by this machine's own actions.
    case changed(Path)
    /// The app set or updated the nodes at these paths.
    case overwritten([Path])
    /// All transactions end.
    case giveUp(LocalStatus)
    /// Answers the action `proceed`.
    case proceed
  }

  /// What the machine asks its owner to do, in order.
  package enum Action: Hashable, Sendable {
    /// Listen to the path silently, as long as the transaction lives.
    case listen(TransactionID, Path)
    /// End that listen.
    case unlisten(TransactionID, Path)
    /// Run the app's function over a node, and answer with `ran`.
    case run(TransactionID, Path, Node)
    /// Lay a write over the views.
    case write(LanePosition, Path, Node, isVisible: Bool)
    /// Take a write away from the views.
    case revert(LanePosition)
    /// The server has a write; `isDataMissing` as in `putAnswered`.
    case acknowledge(LanePosition, isDataMissing: Bool = false)
    /// Send an attempt.
    case put(TransactionPut)
    /// Tell the app how it ended.
    case complete(TransactionID, Outcome)
    /// Call `handle(.proceed)` once the actions before this one are done.
    case proceed
  }

  /// Why a transaction failed.
  package enum Failure: Hashable, Sendable {
    /// The server refused it.
    case refused(Response)
    /// It ended here.
    case local(LocalStatus)
  }

  /// How a transaction ended.
  package struct Outcome: Hashable, Sendable {
    /// Why it failed; nil when it was committed, or given up by the app's function.
    package var error: Failure?
    /// Whether the server has it.
    package var isCommitted: Bool
    /// The node that was written, or over which the function ran last.
    package var node: Node

    /// How a transaction ended.
    package init(error: Failure? = nil, isCommitted: Bool, node: Node) {
      self.error = error
      self.isCommitted = isCommitted
      self.node = node
    }
  }

  /// The node that views would show at a path with the writes of a filter; empty where nothing is known.
  package typealias ReadView = (_ path: Path, _ filter: OverlayFilter) -> Node

  var live = LiveTransactions()
  var lastOrder: UInt64 = 0
  var lastPut: UInt64 = 0
  var puts: [OperationID: SentPut] = [:]
  var isWritable = false
  /// Transactions whose function is to run; some may have ended or need not run any more.
  var runs = RunQueue()
  /// Transactions among them that were sent too often.
  var exhausted: [TransactionID] = []
  /// The transaction whose function runs, even if it has ended meanwhile.
  var running: TransactionID?
  /// Paths at which something may be ready to be sent.
  var readyPaths: Set<Path> = []
  var actions: [Action] = []
  /// Whether the owner must change views before anything is read of them.
  var mustProceed = false

  /// A machine without transactions that cannot send yet.
  package init() {}

  /// Whether no transaction is alive.
  package var isEmpty: Bool { live.byID.isEmpty }

  /// Handles what happened.
  ///
  /// - Parameters:
  ///   - input: what happened.
  ///   - readView: what the views show now; only called during the call.
  /// - Returns: what is to be done, in order.
  package mutating func handle(_ input: Input, readView: ReadView) -> [Action] {
    take(input, readView)
    if !mustProceed { runNext(readView) }
    if !mustProceed { sendReady(readView) }
    if mustProceed { actions.append(.proceed) }
    defer {
      actions = []
      mustProceed = false
    }
    return actions
  }

  private mutating func take(_ input: Input, _ readView: ReadView) {
    switch input {
    case .start(let id, let path, let isVisible, let position): start(id, path, isVisible, position)
    case .ran(let id, let decision, let writePosition, let serverTime):
      ran(id, decision, writePosition, serverTime, readView)
    case .putAnswered(let put, let response, let isDataMissing):
      answered(put, response, isDataMissing)
    case .putGivenUp(let put, let status): givenUp(put, status)
    case .putReturned(let put): returned(put)
    case .writable(let isWritable):
      self.isWritable = isWritable
      if isWritable { readyPaths.formUnion(live.tree.roots(below: .root)) }
    case .changed(let path): rerun(path)
    case .overwritten(let paths): overwritten(paths)
    case .giveUp(let status): giveUp(status)
    case .proceed: break
    }
  }
}
