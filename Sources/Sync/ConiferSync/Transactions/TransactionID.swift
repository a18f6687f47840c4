/// A transaction's number; never given twice in a process.
package struct TransactionID: Hashable, Sendable {
  /// The number.
  package let rawValue: UInt64

  /// The transaction with a number.
  package init(rawValue: UInt64) { self.rawValue = rawValue }
}
