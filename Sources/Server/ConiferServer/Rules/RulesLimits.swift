/// The maximum work of evaluating rules, in steps. A step is one evaluated part of an expression,
/// one key of a path, 64 bytes of a string that are read, or 16 states of a regular expression.
public struct RulesLimits: Hashable, Sendable {
  /// The maximum number of steps of one rule at one place.
  public var evaluation: Int
  /// The maximum number of steps of all rules of one read or write.
  public var request: Int

  /// How much work rules may do.
  ///
  /// - Parameters:
  ///   - evaluation: the most steps of one rule at one place.
  ///   - request: the most steps of all the rules that one read or one write asks.
  public init(evaluation: Int = 1_000_000, request: Int = 50_000_000) {
    self.evaluation = evaluation
    self.request = request
  }

  /// The most bytes of a rules file.
  static let longestFile = 1 << 20
  /// The most levels of braces in a rules file.
  static let deepestFile = 64
  /// The most levels of an expression.
  static let deepestExpression = 100
  /// The maximum length of a string that an expression makes, in UTF-8 bytes.
  static let longestString = 16 << 20
}
