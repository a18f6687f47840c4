// Names, literals, members after a dot, and elements in brackets.
extension ExpressionParser {
  /// A value with the members, elements and calls that follow it.
  mutating func postfix() throws(ExpressionError) -> Part {
    var part = try primary()
    while true {
      if try take(.dot) {
        guard case .name(let name) = lexer.token else {
          throw lexer.error("Expected a name instead of \(lexer.token.words).")
        }
        let start = lexer.start
        try lexer.advance()
        part = try member(name, at: start, of: part)
      } else if lexer.token == .symbol(.openBracket) {
        part = try element(of: part)
      } else if lexer.token == .symbol(.open) {
        throw lexer.error("Type error: Function call on target that is not a function.")
      } else {
        return part
      }
    }
  }

  private mutating func primary() throws(ExpressionError) -> Part {
    let start = lexer.start
    func part(_ expression: RuleExpression, _ type: ExpressionType) -> Part {
      Part(expression: expression, type: type, start: start)
    }
    let token = lexer.token
    switch token {
    case .number(let value):
      try lexer.advance()
      return part(.constant(.number(value)), .number)
    case .string(let bytes):
      try lexer.advance()
      return part(.constant(.string(String(decoding: bytes, as: UTF8.self))), .string)
    case .variable(let name):
      guard let level = variables[name] else {
        throw lexer.error("Unknown variable '\(name)'.")
      }
      try lexer.advance()
      return part(.key(level: level), .string)
    case .name(let name):
      let (expression, type) = try variable(name)
      try lexer.advance()
      return part(expression, type)
    case .symbol(.open):
      try lexer.advance()
      let inner = try expression()
      try expect(.close)
      return inner
    case .symbol(.openBracket):
      throw lexer.error("An array can only be the argument of hasChildren().")
    case .symbol(.slash):
      throw lexer.error("A regular expression can only be the argument of matches().")
    case .symbol, .end:
      throw lexer.error("Unexpected \(token.words).")
    }
  }

  private func variable(
    _ name: String
  ) throws(ExpressionError) -> (RuleExpression, ExpressionType) {
    switch name {
    case "true": return (.constant(.bool(true)), .boolean)
    case "false": return (.constant(.bool(false)), .boolean)
    case "null": return (.constant(.null), .null)
    case "auth": return (.auth, .member)
    case "now": return (.now, .number)
    case "query": return (.constant(.null), .query)
    default:
      guard let snapshot = SnapshotName(rawValue: name) else {
        throw lexer.error("Unknown variable '\(name)'.")
      }
      if snapshot == .newData, kind == .read {
        throw lexer.error("newData is invalid in .read expressions.")
      }
      return (.snapshot(snapshot), .snapshot)
    }
  }

  // MARK: Members

  private mutating func element(of receiver: Part) throws(ExpressionError) -> Part {
    try lexer.advance()
    let start = lexer.start
    let index = try expression()
    try expect(.closeBracket)
    if case .constant(.string(let name)) = index.expression {
      return try member(name, at: start, of: receiver)
    }
    guard receiver.type == .member else { throw lexer.error("Invalid property access.", at: start) }
    guard index.type.mayBe(.string) || index.type == .number else {
      throw lexer.error("The name of a member must be a string.", at: start)
    }
    return try part(
      .element(receiver.expression, index.expression), .member, of: [receiver, index])
  }

  private mutating func member(
    _ name: String, at start: Int, of receiver: Part
  ) throws(ExpressionError) -> Part {
    let isCall = lexer.token == .symbol(.open)
    let unknown = lexer.error("No such method/property '\(name)'.", at: start)
    let noFunction = lexer.error(
      "Type error: Function call on target that is not a function.", at: start)
    switch receiver.type {
    case .snapshot:
      guard let method = SnapshotMethod(rawValue: name) else { throw unknown }
      return try call(method, at: start, of: receiver)
    case .string, .value, .member:
      if isCall {
        if name == "matches" { return try matches(at: start, of: receiver) }
        if let method = StringMethod(rawValue: name) {
          return try call(method, at: start, of: receiver)
        }
        throw name == "length" || receiver.type == .member ? noFunction : unknown
      }
      if receiver.type == .member {
        return try part(.member(receiver.expression, name: name), .member, of: [receiver])
      }
      if name == "length" { return try part(.length(receiver.expression), .number, of: [receiver]) }
      if name == "matches" || StringMethod(rawValue: name) != nil {
        throw lexer.error("\(name) is a method: call it.", at: start)
      }
      throw unknown
    case .query:
      guard let field = QueryField(rawValue: name) else { throw unknown }
      if isCall { throw noFunction }
      return Part(expression: .query(field), type: field.type, start: receiver.start)
    case .null, .boolean, .number: throw unknown
    }
  }

  // MARK: Calls

  private mutating func call(
    _ method: SnapshotMethod, at start: Int, of receiver: Part
  ) throws(ExpressionError) -> Part {
    guard try take(.open) else {
      throw lexer.error("\(method.rawValue) is a method: call it.", at: start)
    }
    let arguments =
      method == .hasChildren
      ? try names()
      : try arguments(of: method.rawValue, count: method.arguments, at: start)
    return try part(
      .ofSnapshot(method, receiver.expression, arguments.map(\.expression)), method.type,
      of: [receiver] + arguments)
  }

  private mutating func call(
    _ method: StringMethod, at start: Int, of receiver: Part
  ) throws(ExpressionError) -> Part {
    try expect(.open)
    let arguments = try arguments(of: method.rawValue, count: method.arguments, at: start)
    return try part(
      .ofString(method, receiver.expression, arguments.map(\.expression)), method.type,
      of: [receiver] + arguments)
  }

  private mutating func matches(
    at start: Int, of receiver: Part
  ) throws(ExpressionError) -> Part {
    try expect(.open)
    guard lexer.token == .symbol(.slash) else {
      throw lexer.error("matches() expects a regular expression literal argument.")
    }
    let pattern = try lexer.pattern()
    guard try take(.close) else { throw lexer.error("matches() expects 1 argument.", at: start) }
    return try part(.matches(receiver.expression, pattern), .boolean, of: [receiver])
  }

  /// Arguments after the opening parenthesis: all are strings.
  private mutating func arguments(
    of name: String, count: Int, at start: Int
  ) throws(ExpressionError) -> [Part] {
    var arguments: [Part] = []
    if lexer.token != .symbol(.close) {
      repeat { arguments.append(try expression()) } while try take(.comma)
    }
    try expect(.close)
    guard arguments.count == count else {
      throw lexer.error(
        "\(name)() expects \(count) argument\(count == 1 ? "" : "s").", at: start)
    }
    for argument in arguments where !argument.type.mayBe(.string) {
      throw lexer.error("\(name)() expects a string argument.", at: argument.start)
    }
    return arguments
  }

  /// The argument of `hasChildren` after the opening parenthesis: nothing, or an array of strings.
  private mutating func names() throws(ExpressionError) -> [Part] {
    if try take(.close) { return [] }
    let start = lexer.start
    guard try take(.openBracket) else {
      throw lexer.error("hasChildren() expects an array of strings.")
    }
    var names: [Part] = []
    while try !take(.closeBracket) {
      names.append(try expression())
      if try !take(.comma) {
        try expect(.closeBracket)
        break
      }
    }
    for name in names where !name.type.mayBe(.string) {
      throw lexer.error("hasChildren() expects an array of strings.", at: name.start)
    }
    guard try take(.close) else {
      throw lexer.error("hasChildren() expects 1 argument.", at: start)
    }
    // With an empty array the result is always true; without an array the node needs any child.
    return names.isEmpty
      ? [Part(expression: .constant(.null), type: .null, start: start)] : names
  }
}
