/// Parses an expression and checks its types, as the Realtime Database does when rules are set. A
/// type that is wrong for any data is an error of the file; types that depend on data are checked
/// during evaluation.
struct ExpressionParser {
  /// A parsed part of an expression.
  struct Part {
    var expression: RuleExpression
    var type: ExpressionType
    /// Where it begins.
    var start: Int
    /// Its depth in levels.
    var depth = 1
  }

  var lexer: ExpressionLexer
  let kind: RulePlace.Kind
  /// The levels of the wildcards above the rule, by name.
  let variables: [String: Int]
  private var nesting = 0

  init(
    _ text: [UInt8], kind: RulePlace.Kind, variables: [String: Int]
  ) throws(ExpressionError) {
    lexer = try ExpressionLexer(text)
    self.kind = kind
    self.variables = variables
  }

  /// Reads the whole text.
  mutating func parse() throws(ExpressionError) -> RuleExpression {
    if lexer.token == .end { throw lexer.error("The expression is empty.") }
    let part = try expression()
    guard lexer.token == .end else { throw lexer.error("Unexpected \(lexer.token.words).") }
    guard part.type == .boolean else {
      throw lexer.error("Expression must evaluate to a boolean.", at: part.start)
    }
    return part.expression
  }

  // MARK: Tokens

  mutating func take(_ symbol: ExpressionToken.Symbol) throws(ExpressionError) -> Bool {
    guard lexer.token == .symbol(symbol) else { return false }
    try lexer.advance()
    return true
  }

  mutating func expect(_ symbol: ExpressionToken.Symbol) throws(ExpressionError) {
    if try !take(symbol) {
      throw lexer.error("Expected '\(symbol.rawValue)' instead of \(lexer.token.words).")
    }
  }

  /// Parses one level deeper, within a limit that protects the stack.
  mutating func nested(
    _ body: (inout ExpressionParser) throws(ExpressionError) -> Part
  ) throws(ExpressionError) -> Part {
    nesting += 1
    defer { nesting -= 1 }
    if nesting > RulesLimits.deepestExpression { throw tooDeep(at: lexer.start) }
    return try body(&self)
  }

  func tooDeep(at offset: Int) -> ExpressionError {
    lexer.error(
      "The expression has more than \(RulesLimits.deepestExpression) levels.", at: offset)
  }

  /// A part made of others.
  func part(
    _ expression: RuleExpression, _ type: ExpressionType, of parts: [Part]
  ) throws(ExpressionError) -> Part {
    let depth = (parts.map(\.depth).max() ?? 0) + 1
    let start = parts.first?.start ?? lexer.start
    if depth > RulesLimits.deepestExpression { throw tooDeep(at: start) }
    return Part(expression: expression, type: type, start: start, depth: depth)
  }

  // MARK: Operators

  /// `a ? b : c`, or an operator that binds more strongly.
  mutating func expression() throws(ExpressionError) -> Part {
    try nested { (parser) throws(ExpressionError) in
      let condition = try parser.operators(1)
      guard try parser.take(.question) else { return condition }
      guard condition.type == .boolean else {
        throw parser.lexer.error("Left operand of ? must be boolean.", at: condition.start)
      }
      let yes = try parser.expression()
      try parser.expect(.colon)
      let no = try parser.expression()
      for side in [yes, no] where side.type == .query {
        throw parser.lexer.error("query is not a value. Name a part of it.", at: side.start)
      }
      guard yes.type == no.type || (yes.type.isValue && no.type.isValue) else {
        throw parser.lexer.error(
          "Both sides of : must be snapshots, or none.", at: no.start)
      }
      let isMember = yes.type == .member || no.type == .member
      let type = yes.type == no.type ? yes.type : isMember ? .member : .value
      return try parser.part(
        .condition(condition.expression, yes.expression, else: no.expression), type,
        of: [condition, yes, no])
    }
  }

  /// Binary operators with at least a minimum precedence.
  private mutating func operators(_ minimum: Int) throws(ExpressionError) -> Part {
    var left = try unary()
    while case .symbol(let symbol) = lexer.token, let precedence = symbol.precedence,
      precedence >= minimum
    {
      if symbol == .and || symbol == .or {
        left = try chain(symbol, precedence, from: left)
        continue
      }
      try lexer.advance()
      let right = try operators(precedence + 1)
      left = try combine(symbol, left, right)
    }
    return left
  }

  /// All operands of consecutive `&&` or `||`, so that long sequences do not nest deeply.
  private mutating func chain(
    _ symbol: ExpressionToken.Symbol, _ precedence: Int, from first: Part
  ) throws(ExpressionError) -> Part {
    var parts = [first]
    while try take(symbol) { parts.append(try operators(precedence + 1)) }
    for (index, part) in parts.enumerated() where part.type != .boolean {
      throw lexer.error(
        "\(index == 0 ? "Left" : "Right") operand of \(symbol.rawValue) must be boolean.",
        at: part.start)
    }
    let expressions = parts.map(\.expression)
    return try part(symbol == .and ? .all(expressions) : .any(expressions), .boolean, of: parts)
  }

  private func combine(
    _ symbol: ExpressionToken.Symbol, _ left: Part, _ right: Part
  ) throws(ExpressionError) -> Part {
    let (a, b) = (left.expression, right.expression)
    switch symbol {
    case .equal, .identical, .unequal, .notIdentical:
      try check(symbol, left, right, "must be a value; a snapshot has val() and exists()") {
        $0.isValue
      }
      let isNegated = symbol == .unequal || symbol == .notIdentical
      return try part(.equal(a, b, negated: isNegated), .boolean, of: [left, right])
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      try check(symbol, left, right, "must be a number or string") {
        $0.mayBe(.number) || $0.mayBe(.string)
      }
      guard left.type == right.type || left.type.isOpen || right.type.isOpen,
        let name = ComparisonOperator(rawValue: symbol.rawValue)
      else {
        throw lexer.error(
          "Invalid \(symbol.rawValue) expression: the operands are of different types.",
          at: right.start)
      }
      return try part(.comparison(name, a, b), .boolean, of: [left, right])
    case .plus:
      try check(symbol, left, right, "must be a number or string") {
        $0.mayBe(.number) || $0.mayBe(.string)
      }
      let type: ExpressionType =
        left.type == .string || right.type == .string
        ? .string : left.type == .number && right.type == .number ? .number : .value
      return try part(.arithmetic(.add, a, b), type, of: [left, right])
    default:
      try check(symbol, left, right, "is not a number") { $0.mayBe(.number) }
      guard let name = ArithmeticOperator(rawValue: symbol.rawValue) else {
        throw lexer.error("Unexpected '\(symbol.rawValue)'.")
      }
      return try part(.arithmetic(name, a, b), .number, of: [left, right])
    }
  }

  private func check(
    _ symbol: ExpressionToken.Symbol, _ left: Part, _ right: Part, _ demand: String,
    _ isMet: (ExpressionType) -> Bool
  ) throws(ExpressionError) {
    for (part, side) in [(left, "left"), (right, "right")] where !isMet(part.type) {
      throw lexer.error(
        "Invalid \(symbol.rawValue) expression: \(side) operand \(demand).", at: part.start)
    }
  }

  private mutating func unary() throws(ExpressionError) -> Part {
    let start = lexer.start
    if lexer.token == .symbol(.not) {
      var operand = try operand()
      guard operand.type == .boolean else {
        throw lexer.error("! only operates on booleans.", at: operand.start)
      }
      operand.start = start
      return try part(.not(operand.expression), .boolean, of: [operand])
    }
    if lexer.token == .symbol(.minus) {
      var operand = try operand()
      guard operand.type.mayBe(.number) else {
        throw lexer.error("- only operates on numbers.", at: operand.start)
      }
      operand.start = start
      return try part(.negated(operand.expression), .number, of: [operand])
    }
    return try postfix()
  }

  /// Skips the current operator and parses its operand.
  private mutating func operand() throws(ExpressionError) -> Part {
    try nested { (parser) throws(ExpressionError) in
      try parser.lexer.advance()
      return try parser.unary()
    }
  }
}
