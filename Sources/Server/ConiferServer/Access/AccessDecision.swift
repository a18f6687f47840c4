public import ConiferTree

/// What rules say of a read or a write, and which of them decided.
public struct AccessDecision: Hashable, Sendable {
  /// Whether it is allowed.
  public var isAllowed: Bool
  /// The rule that granted it, or that refused it; nil when none grants it, and for rules that are no
  /// file.
  public var rule: RulePlace?
  /// The node that this rule was asked at.
  public var path: Path?
  /// Why it is refused, in words for a log: it names rules, never data. Nil when it is allowed.
  public var reason: String?
  /// Whether a rule that decided took more steps than `RulesLimits` allow.
  public var isExhausted: Bool

  /// What rules say.
  ///
  /// - Parameters:
  ///   - isAllowed: whether it is allowed.
  ///   - rule: the rule that decided.
  ///   - path: the node that it was asked at.
  ///   - reason: why it is refused, without data.
  ///   - isExhausted: whether a rule took too many steps.
  public init(
    _ isAllowed: Bool, rule: RulePlace? = nil, path: Path? = nil, reason: String? = nil,
    isExhausted: Bool = false
  ) {
    self.isAllowed = isAllowed
    self.rule = rule
    self.path = path
    self.reason = reason
    self.isExhausted = isExhausted
  }
}
