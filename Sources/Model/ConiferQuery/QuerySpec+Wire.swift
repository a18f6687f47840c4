public import ConiferTree

extension QuerySpec {
  // Clients write a bound before or after all keys of its value with these names.
  private static let smallestKey = "[MIN_NAME]"
  private static let largestKey = "[MAX_NAME]"

  /// The query's name at its path: `default` for the default query, otherwise the wire form as JSON
  /// with sorted keys, as the Realtime Database's clients name queries.
  public var identifier: String {
    isDefault ? "default" : String(decoding: json, as: UTF8.self)
  }

  /// The wire form as compact JSON with sorted keys; `{}` for the default query.
  public var json: [UInt8] {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.bytes
  }

  /// Writes the wire form as one JSON object with sorted keys.
  /// - Parameter writer: The writer that gets the object.
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    for (name, leaf) in members {
      writer.key(name)
      if let leaf { writer.leaf(leaf) } else { writer.null() }
    }
    writer.endObject()
  }

  /// The wire form as a node, which has no child for a bound's value that is `null`; empty for the
  /// default query.
  public var node: Node {
    Node(
      children: members.compactMap { name, leaf in leaf.map { (Key(name), Node($0)) } })
  }

  /// Reads the wire form.
  ///
  /// The members are `sp`, `sn`, `sin` (start value, key, inclusive), `ep`, `en`, `ein` (the end),
  /// `l` and `vf` (limit, `l` or `r` for its side) and `i` (index). Others are ignored. A limit
  /// without a side keeps the first children if there is a start, else the last ones.
  /// - Parameter node: The members, as ``node`` returns them. A value that is `null`, which no node
  ///   holds, is recognised by the `sin` or `ein` beside it.
  /// - Throws: `TreeError.invalidQuery` when a member has the wrong type or the query is not valid.
  public init(node: Node) throws(TreeError) {
    try self.init(Fields(node: node))
  }

  private init(_ fields: Fields) throws(TreeError) {
    var spec = QuerySpec.default
    switch try fields.text("i") {
    case nil, ".priority"?: break
    case ".key"?: spec = try spec.ordered(by: .key)
    case ".value"?: spec = try spec.ordered(by: .value)
    case let path?: spec = try spec.ordered(byChild: path)
    }
    if let start = try fields.bound(
      "sp", "sn", "sin", wholeInside: QuerySpec.smallestKey, wholeOutside: QuerySpec.largestKey)
    {
      spec = try spec.starting(start)
    }
    if let end = try fields.bound(
      "ep", "en", "ein", wholeInside: QuerySpec.largestKey, wholeOutside: QuerySpec.smallestKey)
    {
      spec = try spec.ending(end)
    }
    if let count = try fields.count("l") {
      let side: Side
      switch try fields.text("vf") {
      case "l"?: side = .first
      case "r"?: side = .last
      case nil: side = spec.start == nil ? .last : .first
      default: throw spec.refused("\"vf\" is neither \"l\" nor \"r\"; send one of them")
      }
      spec = try spec.limited(to: count, side)
    }
    self = spec
  }

  /// Reads the wire form from JSON.
  /// - Parameter json: The members in UTF-8, as ``json`` returns them.
  /// - Throws: `TreeError.invalidQuery` when the text is no JSON or the query is not valid.
  public init(json: [UInt8]) throws(TreeError) {
    let fields: Fields
    do throws(JSONError) {
      fields = try Fields(json: json)
    } catch {
      throw TreeError(.invalidQuery, "The text of a query is no JSON object of members: \(error)")
    }
    try self.init(fields)
  }

  /// The members of the wire form by name, in the order of their names; nil means `null`.
  private var members: [(String, Leaf?)] {
    var members: [(String, Leaf?)] = []
    func name(_ bound: Bound, _ outside: String) -> String? {
      bound.key?.string ?? (bound.inclusive || index == .key ? nil : outside)
    }
    if let end {
      members.append(("ein", .bool(end.inclusive)))
      if let key = name(end, QuerySpec.smallestKey) { members.append(("en", .string(key))) }
      members.append(("ep", end.value))
    }
    if index != .priority { members.append(("i", .string(index.description))) }
    if let limit { members.append(("l", .integer(Int64(limit.count)))) }
    if let start {
      members.append(("sin", .bool(start.inclusive)))
      if let key = name(start, QuerySpec.largestKey) { members.append(("sn", .string(key))) }
      members.append(("sp", start.value))
    }
    if let limit { members.append(("vf", .string(limit.side == .first ? "l" : "r"))) }
    return members
  }
}

/// Typed access to the members of a wire form.
private struct Fields {
  let node: Node
  /// The members that are `null` in JSON, which a node cannot hold.
  var nulls: Set<Key> = []

  init(node: Node) { self.node = node }

  init(json: [UInt8]) throws(JSONError) {
    node = try Node(json: json)
    var reader = JSONReader(bytes: json)
    var name = ""
    while let event = try reader.next() {
      if case .key(let key) = event { name = key }
      if case .null = event, reader.depth == 1 { nulls.insert(Key(name)) }
    }
  }

  func text(_ name: String) throws(TreeError) -> String? {
    let member = node[Key(name)]
    if member.isEmpty { return nil }
    guard case .string(let text)? = member.leaf else { throw wrong(name, "a string") }
    return text
  }

  func count(_ name: String) throws(TreeError) -> Int? {
    let member = node[Key(name)]
    if member.isEmpty { return nil }
    guard let number = member.leaf?.number, let count = Int(exactly: number) else {
      throw wrong(name, "a whole number")
    }
    return count
  }

  func bound(
    _ valueName: String, _ keyName: String, _ inclusiveName: String, wholeInside: String,
    wholeOutside: String
  ) throws(TreeError) -> QuerySpec.Bound? {
    let value = node[Key(valueName)]
    let key = try text(keyName)
    let inclusive = node[Key(inclusiveName)]
    if value.isEmpty, key == nil, inclusive.isEmpty, !nulls.contains(Key(valueName)) { return nil }
    guard value.isEmpty || value.isLeaf else {
      throw wrong(valueName, "a string, a number, a boolean or null")
    }
    var isInclusive = true
    if !inclusive.isEmpty {
      guard case .bool(let flag)? = inclusive.leaf else { throw wrong(inclusiveName, "a boolean") }
      isInclusive = flag
    }
    switch key {
    case wholeInside?: return QuerySpec.Bound(value: value.leaf, key: nil, inclusive: true)
    case wholeOutside?: return QuerySpec.Bound(value: value.leaf, key: nil, inclusive: false)
    default:
      return QuerySpec.Bound(value: value.leaf, key: key.map { Key($0) }, inclusive: isInclusive)
    }
  }

  private func wrong(_ name: String, _ wanted: String) -> TreeError {
    TreeError(.invalidQuery, "In a query, \"\(name)\" is not \(wanted); send it as one.")
  }
}
