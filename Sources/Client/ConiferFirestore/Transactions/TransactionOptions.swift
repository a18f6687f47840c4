/// How a transaction is run.
public struct TransactionOptions: Sendable, Hashable {
  /// How often its function is called at most, one at least: 5 unless set.
  public var maxAttempts = 5

  /// The options that hold where none are given.
  public init() {}

  /// Checks that they make sense.
  ///
  /// - Throws: `invalidArgument`.
  func validate() throws(FirestoreError) {
    guard maxAttempts >= 1 else {
      throw FirestoreError(
        .invalidArgument,
        "A transaction cannot be run \(maxAttempts) times. Set maxAttempts to one or more.")
    }
  }
}
