import ConiferTree

/// The return value of a transaction's function, which writes the changed data or aborts.
public struct TransactionResult: Sendable {
  /// What is to be written; nil to give up.
  let node: Node?
  /// Why that is invalid.
  let error: DatabaseError?

  /// Writes the data as it is now.
  ///
  /// - Parameter value: the data that the function was given, or a part of it, which is then written
  ///   to the transaction's place.
  public static func success(withValue value: MutableData) -> TransactionResult {
    TransactionResult(node: value.node, error: value.error)
  }

  /// Gives up: nothing is written, and there is no error.
  public static func abort() -> TransactionResult { TransactionResult(node: nil, error: nil) }
}
