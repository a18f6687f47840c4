public import ConiferTree

/// The rules' decision on a read or a write, and the rule that decided.
public struct AccessDecision: Hashable, Sendable {
  /// Whether the request is allowed.
  public var isAllowed: Bool
  /// The rule that granted or refused the request; nil when no rule grants it, and for rules that
  /// are not from a file.
  public var rule: RulePlace?
  /// The node for which the rule was evaluated.
  public var path: Path?
  /// Why the request is refused, for a log: the text names rules, never data. Nil when it is
  /// allowed.
  public var reason: String?
  /// Whether a rule that decided took more steps than `RulesLimits` allow.
  public var isExhausted: Bool

  /// A decision.
  ///
  /// - Parameters:
  ///   - isAllowed: whether it is allowed.
  ///   - rule: the rule that decided.
  ///   - path: the node for which it was evaluated.
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
