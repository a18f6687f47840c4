import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferTree

/// Parses a rules file to a tree of rules.
struct RulesReader {
  private var scanner: RulesScanner
  private(set) var indexes: [IndexDefinition] = []
  private var known: Set<IndexDefinition> = []

  init(_ bytes: [UInt8]) throws(RulesError) { scanner = try RulesScanner(bytes) }

  /// Reads the whole file.
  mutating func read() throws(RulesError) -> RulesNode {
    var root: RulesNode?
    try members { (reader, name) throws(RulesError) in
      guard name.string == "rules" else {
        throw reader.scanner.error(
          "\"\(name.string)\" does not belong here. A rules file has only \"rules\".",
          at: name.start)
      }
      root = try reader.node(at: [], variables: [:])
    }
    if try scanner.peek() != nil {
      throw scanner.error("More text follows the rules.", at: scanner.at)
    }
    guard let root else { throw scanner.error("The file has no \"rules\".", at: 0) }
    return root
  }

  /// Reads an object; `read` reads the values of its members.
  private mutating func members(
    _ read: (inout RulesReader, RulesText) throws(RulesError) -> Void
  ) throws(RulesError) {
    try scanner.expect("{")
    var names: Set<[UInt8]> = []
    while try !scanner.take("}") {
      let name = try scanner.string()
      guard names.insert(name.bytes).inserted else {
        throw scanner.error("\"\(name.string)\" appears twice here.", at: name.start)
      }
      try scanner.expect(":")
      _ = try scanner.peek()
      try read(&self, name)
      if try !scanner.take(",") {
        try scanner.expect("}")
        return
      }
    }
  }

  /// Reads the rules of a place and of those below.
  ///
  /// - Parameters:
  ///   - path: the place.
  ///   - variables: the levels of the wildcards above it, by name.
  private mutating func node(
    at path: [Key], variables: [String: Int]
  ) throws(RulesError) -> RulesNode {
    guard path.count < RulesLimits.deepestFile else {
      throw scanner.error(
        "Rules have at most \(RulesLimits.deepestFile) levels.", at: scanner.at)
    }
    var rules: [RulePlace.Kind: Rule] = [:]
    var indexes: [QueryIndex] = []
    var children: [Key: RulesNode] = [:]
    var wildcard: (name: String, node: RulesNode)?
    try members { (reader, text) throws(RulesError) in
      let name = text.string
      if let kind = RulePlace.Kind(rawValue: name) {
        rules[kind] = try reader.rule(kind, at: path, variables: variables)
      } else if name == ".indexOn" {
        indexes = try reader.readIndexes(at: Path(path))
      } else if name.utf8.first == UInt8(ascii: ".") {
        throw reader.scanner.error(
          "There is no rule \"\(name)\": the rules are .read, .write, .validate and .indexOn.",
          at: text.start)
      } else if name.utf8.first == UInt8(ascii: "$") {
        if let other = wildcard {
          throw reader.scanner.error(
            "Cannot have multiple default rules ('\(other.name)' and '\(name)').", at: text.start)
        }
        guard variables[name] == nil else {
          throw reader.scanner.error(
            "A place above is also called \(name). Give this one another name.", at: text.start)
        }
        try reader.check(name.utf8.dropFirst(), of: text)
        var inner = variables
        inner[name] = path.count
        wildcard = (name, try reader.node(at: path + [Key(name)], variables: inner))
      } else {
        try reader.check(name.utf8[...], of: text)
        children[Key(name)] = try reader.node(at: path + [Key(name)], variables: variables)
      }
    }
    return RulesNode(
      read: rules[.read], write: rules[.write], validate: rules[.validate], indexes: indexes,
      children: children, wildcard: wildcard?.node)
  }

  /// Checks that a name is a valid key.
  private func check(_ name: String.UTF8View.SubSequence, of text: RulesText) throws(RulesError) {
    if name.isEmpty { throw scanner.error("The name is empty.", at: text.start) }
    if name.count > Key.longest {
      throw scanner.error("The name has more than \(Key.longest) bytes.", at: text.start)
    }
    if let index = name.firstIndex(where: { $0 < 0x20 || $0 == 0x7F || ".#$/[]".utf8.contains($0) })
    {
      throw scanner.error(
        "String can't contain \".\", \"#\", \"$\", \"/\", \"[\", or \"]\", or control characters.",
        at: text.origin(text.bytes.count - name[index...].count))
    }
  }

  private mutating func rule(
    _ kind: RulePlace.Kind, at path: [Key], variables: [String: Int]
  ) throws(RulesError) -> Rule {
    let (line, column) = scanner.position(of: scanner.at)
    let place = RulePlace(
      pattern: Path(path).description, kind: kind, line: line, column: column)
    if let value = try scanner.boolean() {
      return Rule(place: place, expression: .constant(.bool(value)))
    }
    guard try scanner.peek() == UInt8(ascii: "\"") else {
      throw scanner.error(
        "Invalid rule expression.  Expected 'true', 'false', or an expression string.",
        at: scanner.at)
    }
    let text = try scanner.string()
    do throws(ExpressionError) {
      var parser = try ExpressionParser(text.bytes, kind: kind, variables: variables)
      return Rule(place: place, expression: try parser.parse())
    } catch {
      throw scanner.error(error.message, at: text.origin(error.offset))
    }
  }

  // MARK: Indexes

  private mutating func readIndexes(at path: Path) throws(RulesError) -> [QueryIndex] {
    var found: [QueryIndex] = []
    if try scanner.peek() == UInt8(ascii: "\"") {
      try addIndex(try scanner.string(), at: path, &found)
      return found
    }
    guard try scanner.take("[") else { throw invalidIndex() }
    while try !scanner.take("]") {
      guard try scanner.peek() == UInt8(ascii: "\"") else { throw invalidIndex() }
      try addIndex(try scanner.string(), at: path, &found)
      if try !scanner.take(",") {
        try scanner.expect("]")
        break
      }
    }
    return found
  }

  private func invalidIndex() -> RulesError {
    scanner.error(
      "Invalid indexOn expression. Must be either a string or an array of strings.", at: scanner.at)
  }

  private mutating func addIndex(
    _ text: RulesText, at path: Path, _ found: inout [QueryIndex]
  ) throws(RulesError) {
    let index: QueryIndex
    switch text.string {
    case ".key": return
    case ".value": index = .value
    case ".priority": index = .priority
    case let name: index = .child(Path(name))
    }
    do throws(StoreError) {
      let definition = try IndexDefinition(path, by: index)
      found.append(index)
      if known.insert(definition).inserted { indexes.append(definition) }
    } catch {
      throw scanner.error(error.message, at: text.start)
    }
  }
}
