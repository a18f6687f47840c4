package import ConiferTree

/// What a machine of transactions asks its owner to do, in order.
package enum TransactionAction: Hashable, Sendable {
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
  case complete(TransactionID, TransactionOutcome)
  /// Call `handle(.proceed)` once the actions before this one are done.
  case proceed
}
