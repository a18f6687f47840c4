import ConiferQuery
import ConiferTree
import Testing

@testable import ConiferServer

/// What an expression comes to.
enum Verdict: Equatable, CustomTestStringConvertible {
  case yes
  case no
  /// It has no value, so that its rule does not hold.
  case fails
  case exhausted
  /// It is no expression; the message.
  case refused(String)

  var testDescription: String { "\(self)" }
}

/// Evaluates an expression at `/a/b` of some data.
struct Probe {
  var token: VerifiedToken?
  /// The data at the root, before and after.
  var before = Node.empty
  var after: Node?
  var now: Int64 = 1000
  var query = QuerySpec.default
  var steps = 1_000_000
  var kind = RulePlace.Kind.validate

  func callAsFunction(_ text: String) -> Verdict {
    let expression: RuleExpression
    do throws(ExpressionError) {
      var parser = try ExpressionParser(
        Array(text.utf8), kind: kind, variables: ["$first": 0, "$second": 1])
      expression = try parser.parse()
    } catch {
      return .refused(error.message)
    }
    let request = RuleRequest(
      AccessContext(auth: token, root: before, now: now), after: after ?? before, query: query)
    let site = RuleSite(
      keys: ["a", "b"], before: before["a/b" as Path], after: (after ?? before)["a/b" as Path])
    var evaluation = RuleEvaluation(request, at: site, steps: steps)
    do throws(RuleFailure) {
      return try evaluation.isTrue(expression) ? .yes : .no
    } catch {
      if case .exhausted = error { return .exhausted }
      return .fails
    }
  }
}

/// Rules that are known to be right.
func rules(
  _ json: String, limits: RulesLimits = RulesLimits(),
  at location: SourceLocation = #_sourceLocation
) throws -> SecurityRules {
  do {
    return try SecurityRules(json: "{\"rules\": \(json)}", limits: limits)
  } catch {
    Issue.record("\(error)", sourceLocation: location)
    throw error
  }
}

extension SecurityRules {
  /// Whether somebody may read; nobody when there is no name.
  func reads(
    _ path: Path, _ spec: QuerySpec = .default, as uid: String? = nil, of root: Node = .empty
  ) -> Bool {
    let context = AccessContext(auth: uid.map { VerifiedToken(uid: $0) }, root: root, now: 1000)
    return allowsRead(QueryTarget(path, spec), context)
  }

  /// What is said of somebody's write of one node.
  func write(
    _ path: Path, _ node: Node, as uid: String? = nil, to root: Node = .empty
  ) -> AccessDecision {
    let context = AccessContext(auth: uid.map { VerifiedToken(uid: $0) }, root: root, now: 1000)
    return decideWrite(path, after: root.setting(path, to: node), context)
  }

  /// Whether somebody may write one node.
  func writes(
    _ path: Path, _ node: Node, as uid: String? = nil, to root: Node = .empty
  ) -> Bool {
    write(path, node, as: uid, to: root).isAllowed
  }
}
