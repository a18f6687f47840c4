import ConiferQuery
import ConiferTree

/// The values that the rules of one request can read.
struct RuleRequest {
  /// `auth`; null for nobody, but not for a user without claims.
  let auth: RuleValue
  let now: Double
  /// All data, before a write.
  let before: Node
  /// All data as a write would leave it; nil for a read.
  let after: Node?
  /// The query of a read; the default one for a write.
  let query: QuerySpec

  init(_ context: AccessContext, after: Node? = nil, query: QuerySpec = .default) {
    let variable = context.auth?.authVariable
    auth = variable.map { $0.isEmpty ? .node(.empty) : RuleValue($0) } ?? .null
    now = Double(context.now)
    before = context.root
    self.after = after
    self.query = query
  }

  /// A part of `query`.
  func value(of field: QueryField) -> RuleValue {
    switch field {
    // A read without an order counts as one by key. With limits or bounds it may also be one by
    // priority, as the wire protocol does not distinguish that order from none.
    case .orderByKey: .bool(query.index == .key || (query.index == .priority && after == nil))
    case .orderByPriority: .bool(query.index == .priority && !query.isDefault)
    case .orderByValue: .bool(query.index == .value)
    case .orderByChild:
      if case .child = query.index { .string(query.index.description) } else { .null }
    case .startAt: RuleValue(bound: query.start)
    case .endAt: RuleValue(bound: query.end)
    case .equalTo:
      if let start = query.start, start == query.end, start.inclusive {
        RuleValue(bound: start)
      } else {
        .null
      }
    case .limitToFirst: limit(.first)
    case .limitToLast: limit(.last)
    }
  }

  private func limit(_ side: QuerySpec.Side) -> RuleValue {
    guard let limit = query.limit, limit.side == side else { return .null }
    return .number(Double(limit.count))
  }
}

extension RuleValue {
  fileprivate init(bound: QuerySpec.Bound?) {
    self = bound?.value.map { RuleValue(Node($0)) } ?? .null
  }
}

/// A place that rules are evaluated at.
struct RuleSite {
  /// The keys from the root.
  var keys: [Key]
  /// The data there, before a write.
  var before: Node
  /// The data there as a write would leave it.
  var after: Node

  /// The place of a child.
  func child(_ key: Key) -> RuleSite { child(key, after: after.ruleChild(key)) }

  /// The place of a child whose data after a write is known.
  func child(_ key: Key, after: Node) -> RuleSite {
    RuleSite(keys: keys + [key], before: before.ruleChild(key), after: after)
  }
}
