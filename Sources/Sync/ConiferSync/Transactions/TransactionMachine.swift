package import ConiferTree

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
  var actions: [TransactionAction] = []
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
  package mutating func handle(_ input: TransactionInput, readView: ReadView) -> [TransactionAction]
  {
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

  private mutating func take(_ input: TransactionInput, _ readView: ReadView) {
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
