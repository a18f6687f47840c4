/// The options of a transaction, such as the maximum number of its attempts.
public final class TransactionOptions {
  /// How often its function is called at most, one at least: 5 unless set.
  public var maxAttempts = 5

  /// The options that hold where none are given.
  public init() {}
}
