import ConiferTree

/// Evaluates one rule at one place, within a number of steps.
struct RuleEvaluation {
  let request: RuleRequest
  let site: RuleSite
  /// The steps that are left.
  private(set) var steps: Int

  init(_ request: RuleRequest, at site: RuleSite, steps: Int) {
    self.request = request
    self.site = site
    self.steps = steps
  }

  /// Whether a rule is true.
  mutating func isTrue(_ expression: RuleExpression) throws(RuleFailure) -> Bool {
    guard case .bool(let value) = try value(expression) else {
      throw .type("a value is not a boolean")
    }
    return value
  }

  mutating func charge(_ count: Int) throws(RuleFailure) {
    steps -= count
    if steps < 0 { throw .exhausted }
  }

  /// Charges for reading a string.
  mutating func charge(_ text: String) throws(RuleFailure) { try charge(text.utf8.count >> 6) }

  // The parser bounds how deep this goes.
  mutating func value(_ expression: RuleExpression) throws(RuleFailure) -> RuleValue {
    try charge(1)
    switch expression {
    case .constant(let value): return value
    case .auth: return request.auth
    case .now: return .number(request.now)
    case .key(let level):
      return level < site.keys.count ? .string(site.keys[level].string) : .null
    case .snapshot(let name): return .snapshot(snapshot(name))
    case .query(let field): return request.value(of: field)
    case .member(let receiver, let name): return member(name, of: try value(receiver))
    case .element(let receiver, let index): return try element(receiver, index)
    case .not(let operand): return .bool(try !isTrue(operand))
    case .negated(let operand): return .number(-(try number(operand)))
    case .arithmetic(let name, let a, let b): return try arithmetic(name, a, b)
    case .equal(let a, let b, let isNegated):
      let (a, b) = (try value(a), try value(b))
      return .bool(try isEqual(a, b) != isNegated)
    case .comparison(let name, let a, let b): return .bool(try compare(name, a, b))
    case .all(let parts):
      for part in parts where try !isTrue(part) { return .bool(false) }
      return .bool(true)
    case .any(let parts):
      for part in parts where try isTrue(part) { return .bool(true) }
      return .bool(false)
    case .condition(let condition, let yes, let no):
      return try value(try isTrue(condition) ? yes : no)
    case .length(let receiver): return .number(Double(try length(receiver)))
    case .ofSnapshot(let method, let receiver, let arguments):
      return try call(method, receiver, arguments)
    case .ofString(let method, let receiver, let arguments):
      return try call(method, receiver, arguments)
    case .matches(let receiver, let pattern): return .bool(try matches(receiver, pattern))
    }
  }

  private func snapshot(_ name: SnapshotName) -> RuleSnapshot {
    switch name {
    case .root: RuleSnapshot(tree: request.before, keys: [], node: request.before)
    case .data: RuleSnapshot(tree: request.before, keys: site.keys, node: site.before)
    case .newData:
      RuleSnapshot(
        tree: request.after ?? request.before, keys: site.keys, node: site.after)
    }
  }

  // MARK: Members

  /// A member of `auth` or of its members: null where there is none, so `auth.uid` is null for
  /// nobody.
  private func member(_ name: String, of value: RuleValue) -> RuleValue {
    switch value {
    case .node(let node): RuleValue(node.ruleChild(Key(name)))
    case .string(let text) where name == "length": .number(Double(text.utf16.count))
    default: .null
    }
  }

  private mutating func element(
    _ receiver: RuleExpression, _ index: RuleExpression
  ) throws(RuleFailure) -> RuleValue {
    let receiver = try value(receiver)
    switch try value(index) {
    case .string(let name): return member(name, of: receiver)
    case .number(let number): return member(RuleNumber.text(number), of: receiver)
    default: throw .type("the name of a member is not a string")
    }
  }

  // MARK: Operators

  mutating func number(_ expression: RuleExpression) throws(RuleFailure) -> Double {
    guard case .number(let number) = try value(expression) else {
      throw .type("a value is not a number")
    }
    return number
  }

  mutating func string(_ expression: RuleExpression) throws(RuleFailure) -> String {
    guard case .string(let text) = try value(expression) else {
      throw .type("a value is not a string")
    }
    return text
  }

  private mutating func arithmetic(
    _ name: ArithmeticOperator, _ a: RuleExpression, _ b: RuleExpression
  ) throws(RuleFailure) -> RuleValue {
    if name == .add { return try sum(try value(a), try value(b)) }
    let (a, b) = (try number(a), try number(b))
    switch name {
    case .add: return .number(a + b)
    case .subtract: return .number(a - b)
    case .multiply: return .number(a * b)
    // Dividing by zero gives NaN, as in the Realtime Database.
    case .divide: return .number(b == 0 ? .nan : a / b)
    case .remainder: return .number(a.truncatingRemainder(dividingBy: b))
    }
  }

  private mutating func sum(_ a: RuleValue, _ b: RuleValue) throws(RuleFailure) -> RuleValue {
    switch (a, b) {
    case (.number(let a), .number(let b)): return .number(a + b)
    case (.string(let a), .string(let b)): return .string(try joined(a, b))
    case (.string(let a), .number(let b)): return .string(try joined(a, RuleNumber.text(b)))
    case (.number(let a), .string(let b)): return .string(try joined(RuleNumber.text(a), b))
    default: throw .type("an operand of + is neither a number nor a string")
    }
  }

  private mutating func joined(_ a: String, _ b: String) throws(RuleFailure) -> String {
    try charge(a)
    try charge(b)
    guard a.utf8.count + b.utf8.count <= RulesLimits.longestString else {
      throw .type("a string becomes too long")
    }
    return a + b
  }

  private mutating func compare(
    _ name: ComparisonOperator, _ a: RuleExpression, _ b: RuleExpression
  ) throws(RuleFailure) -> Bool {
    switch (try value(a), try value(b)) {
    case (.number(let a), .number(let b)):
      switch name {
      case .less: return a < b
      case .lessOrEqual: return a <= b
      case .greater: return a > b
      case .greaterOrEqual: return a >= b
      }
    case (.string(let a), .string(let b)):
      try charge(a)
      let order = Leaf.compare(.string(a), .string(b))
      switch name {
      case .less: return order < 0
      case .lessOrEqual: return order <= 0
      case .greater: return order > 0
      case .greaterOrEqual: return order >= 0
      }
    default: throw .type("the operands of \(name.rawValue) are neither numbers nor strings")
    }
  }

  /// Whether values are equal: those of different types never are.
  private mutating func isEqual(_ a: RuleValue, _ b: RuleValue) throws(RuleFailure) -> Bool {
    switch (a, b) {
    case (.null, .null): return true
    case (.bool(let a), .bool(let b)): return a == b
    case (.number(let a), .number(let b)): return a == b
    case (.string(let a), .string(let b)):
      try charge(a)
      return Leaf.string(a) == Leaf.string(b)
    case (.node(let a), .node(let b)): return try isEqual(a, b)
    default: return false
    }
  }

  /// Whether data is equal, whatever its priorities.
  private mutating func isEqual(_ a: Node, _ b: Node) throws(RuleFailure) -> Bool {
    try charge(1)
    if a.isIdentical(to: b) { return true }
    if a.isLeaf || b.isLeaf { return try isEqual(RuleValue(a), RuleValue(b)) }
    guard a.childCount == b.childCount else { return false }
    for (a, b) in zip(a.children, b.children) {
      guard a.key == b.key, try isEqual(a.node, b.node) else { return false }
    }
    return true
  }
}
