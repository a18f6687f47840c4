package import ConiferTree

/// A transaction's attempt: a put that the server applies only if the node there has a hash.
package struct TransactionPut: Hashable, Sendable {
  /// Its number.
  package let id: OperationID
  /// Its position in the order of all that was issued: that of its first transaction.
  package let position: LanePosition
  /// Where.
  package let path: Path
  /// The new node, with server values unresolved.
  package let node: Node
  /// The hash that the node there must have.
  package let hash: String

  /// A transaction's attempt.
  package init(_ id: OperationID, position: LanePosition, _ path: Path, _ node: Node, hash: String)
  {
    self.id = id
    self.position = position
    self.path = path
    self.node = node
    self.hash = hash
  }
}

extension TransactionPut {
  /// About how many bytes it takes on the wire.
  var size: Int { 64 + path.keys.reduce(0) { $0 + $1.utf8Count + 1 } + node.estimatedSize }
}
