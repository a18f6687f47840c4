/// The number of a get, an onDisconnect or a transaction's put; the caller gives no number twice to
/// operations of one kind.
package struct OperationID: Hashable, Sendable {
  /// The number.
  package let rawValue: UInt64

  /// The operation with a number.
  package init(rawValue: UInt64) { self.rawValue = rawValue }
}
