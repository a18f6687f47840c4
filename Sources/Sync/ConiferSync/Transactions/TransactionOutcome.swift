package import ConiferTree
package import ConiferWire

/// How a transaction ended.
package struct TransactionOutcome: Hashable, Sendable {
  /// Why it failed; nil when it was committed, or given up by the app's function.
  package var error: TransactionFailure?
  /// Whether the server has it.
  package var isCommitted: Bool
  /// The node that was written, or over which the function ran last.
  package var node: Node

  /// How a transaction ended.
  package init(error: TransactionFailure? = nil, isCommitted: Bool, node: Node) {
    self.error = error
    self.isCommitted = isCommitted
    self.node = node
  }
}

/// Why a transaction failed.
package enum TransactionFailure: Hashable, Sendable {
  /// The server refused it.
  case refused(Response)
  /// It ended here.
  case local(LocalStatus)
}
