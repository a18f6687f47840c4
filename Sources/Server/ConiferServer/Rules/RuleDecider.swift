import ConiferTree

/// Evaluates the rules of one request, within their common limit of steps.
struct RuleDecider {
  let request: RuleRequest
  private let limits: RulesLimits
  private var steps: Int

  init(_ request: RuleRequest, _ limits: RulesLimits) {
    self.request = request
    self.limits = limits
    steps = limits.request
  }

  /// Searches from the root down for a rule that grants the request.
  mutating func grant(
    _ kind: RulePlace.Kind, along sites: [(site: RuleSite, rules: RulesNode)]
  ) -> AccessDecision {
    var exhausted: RulePlace?
    var failed: (rule: Rule, words: String)?
    for (site, rules) in sites {
      guard let rule = kind == .read ? rules.read : rules.write else { continue }
      switch ask(rule, at: site) {
      case .success(true):
        return AccessDecision(true, rule: rule.place, path: Path(site.keys))
      case .success(false): break
      case .failure(.exhausted): exhausted = exhausted ?? rule.place
      case .failure(.type(let words)): failed = failed ?? (rule, words)
      }
    }
    var reason = "No \(kind.rawValue) at the path or above it grants it"
    if let exhausted { reason += "; \(exhausted) takes too many steps" }
    if let failed { reason += "; in \(failed.rule.place) \(failed.words)" }
    return AccessDecision(
      false, rule: exhausted, reason: reason + ".", isExhausted: exhausted != nil)
  }

  /// The first `.validate` that does not hold, at places with data after the write.
  mutating func invalid(
    along sites: [(site: RuleSite, rules: RulesNode)]
  ) -> AccessDecision? {
    for (site, rules) in sites where !site.after.isEmpty {
      if let refusal = invalid(at: site, rules) { return refusal }
    }
    return nil
  }

  /// The first `.validate` below a place that does not hold after the write.
  mutating func invalid(below site: RuleSite, _ rules: RulesNode) -> AccessDecision? {
    guard rules.validatesBelow, !site.after.isLeaf, !site.after.isEmpty else { return nil }
    if rules.wildcard?.validates == true {
      for child in site.after.children {
        guard let below = rules.child(child.key), below.validates else { continue }
        if let refusal = invalid(from: site.child(child.key, after: child.node), below) {
          return refusal
        }
      }
      return nil
    }
    for (key, below) in rules.validating {
      let child = site.child(key)
      if child.after.isEmpty { continue }
      if let refusal = invalid(from: child, below) { return refusal }
    }
    return nil
  }

  private mutating func invalid(from site: RuleSite, _ rules: RulesNode) -> AccessDecision? {
    invalid(at: site, rules) ?? invalid(below: site, rules)
  }

  private mutating func invalid(at site: RuleSite, _ rules: RulesNode) -> AccessDecision? {
    guard let rule = rules.validate else { return nil }
    let reason: String
    switch ask(rule, at: site) {
    case .success(true): return nil
    case .success(false): reason = "\(rule.place) does not hold."
    case .failure(.type(let words)): reason = "\(rule.place) does not hold: \(words)."
    case .failure(.exhausted):
      return AccessDecision(
        false, rule: rule.place, path: Path(site.keys),
        reason: "\(rule.place) takes too many steps.", isExhausted: true)
    }
    return AccessDecision(false, rule: rule.place, path: Path(site.keys), reason: reason)
  }

  private mutating func ask(_ rule: Rule, at site: RuleSite) -> Result<Bool, RuleFailure> {
    let allowance = min(limits.evaluation, steps)
    var evaluation = RuleEvaluation(request, at: site, steps: allowance)
    defer { steps -= allowance - max(0, evaluation.steps) }
    do throws(RuleFailure) {
      return .success(try evaluation.isTrue(rule.expression))
    } catch {
      return .failure(error)
    }
  }
}
