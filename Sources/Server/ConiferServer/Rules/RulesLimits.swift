/// How much work rules may do, in steps: one for each part of an expression that is evaluated, each
/// key of a path, each 64 bytes of a string that are looked at, and each 16 states that a regular
/// expression goes through.
public struct RulesLimits: Hashable, Sendable {
  /// The most steps of one rule at one place.
  public var evaluation: Int
  /// The most steps of all the rules that one read or one write asks.
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
  /// The most UTF-8 bytes of a string that an expression makes.
  static let longestString = 16 << 20
}
