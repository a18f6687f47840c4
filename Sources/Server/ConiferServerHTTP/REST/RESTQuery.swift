import ConiferQuery
import ConiferTree

/// The filtering parameters of a request: `orderBy` and those that depend on it.
enum RESTQuery {
  private static let constraints = [
    "startAt", "startAfter", "endAt", "endBefore", "equalTo", "limitToFirst", "limitToLast",
  ]

  /// Whether a request has any of them.
  static func isIn(_ request: HTTPRequest) -> Bool {
    request.query.contains { $0.name == "orderBy" || constraints.contains($0.name) }
  }

  /// The query of a request; the default query when there are no parameters.
  static func parse(_ request: HTTPRequest) throws(RESTRefusal) -> QuerySpec {
    guard isIn(request) else { return .default }
    guard let order = request.parameter("orderBy") else {
      throw RESTRefusal(400, "orderBy must be defined when other query parameters are defined")
    }
    do throws(TreeError) {
      var spec = try ordered(by: order)
      for name in constraints {
        guard let text = request.parameter(name) else { continue }
        spec = try narrowed(spec, name, text)
      }
      return spec
    } catch {
      throw RESTRefusal(400, error.message)
    }
  }

  private static func ordered(by text: String) throws(TreeError) -> QuerySpec {
    guard case .string(let order)?? = primitives(text)?.first, primitives(text)?.count == 1 else {
      throw refused("orderBy must be a valid JSON encoded path")
    }
    switch order {
    case "$key": return try QuerySpec.default.ordered(by: .key)
    case "$value": return try QuerySpec.default.ordered(by: .value)
    case "$priority": return try QuerySpec.default.ordered(by: .priority)
    default: return try QuerySpec.default.ordered(byChild: order)
    }
  }

  private static func narrowed(
    _ spec: QuerySpec, _ name: String, _ text: String
  ) throws(TreeError) -> QuerySpec {
    switch name {
    case "limitToFirst": return try spec.limited(toFirst: limit(name, text))
    case "limitToLast": return try spec.limited(toLast: limit(name, text))
    default: break
    }
    let (value, key) = try bound(text)
    if spec.index == .key {
      guard case .string? = value else {
        throw refused("Provided key index type is invalid, must be string")
      }
    }
    // Clients use these to name a place before or after all keys of a value.
    let (isFirst, isLast) = (key == "[MIN_NAME]", key == "[MAX_NAME]")
    let named = isFirst || isLast ? nil : key
    switch name {
    case "startAt", "startAfter":
      return isLast || (name == "startAfter" && !isFirst)
        ? try spec.starting(after: value, key: named) : try spec.starting(at: value, key: named)
    case "endAt", "endBefore":
      return isFirst || (name == "endBefore" && !isLast)
        ? try spec.ending(before: value, key: named) : try spec.ending(at: value, key: named)
    default: return try spec.equal(to: value, key: key)
    }
  }

  private static func limit(_ name: String, _ text: String) throws(TreeError) -> Int {
    guard let count = Int(text), count > 0, count <= Int32.max else {
      throw refused("\(name) must be a positive integer of at most 32 bits")
    }
    return count
  }

  /// A bound: a value, and after a comma the key of a child with that value.
  private static func bound(_ text: String) throws(TreeError) -> (Leaf?, Key?) {
    guard let parts = primitives(text), (1...2).contains(parts.count) else {
      throw refused("Constraint index field must be a JSON primitive")
    }
    guard parts.count == 2 else { return (parts[0], nil) }
    guard case .string(let name)? = parts[1] else {
      throw refused("Constraint key field must be a valid key name")
    }
    return (parts[0], Key(name))
  }

  /// The JSON primitives of a text, between commas; nil when there is anything else.
  private static func primitives(_ text: String) -> [Leaf?]? {
    guard text.utf8.count <= 64 << 10 else { return nil }
    var reader = JSONReader(bytes: Array("[\(text)]".utf8), limits: .init(depth: 1))
    var leaves: [Leaf?] = []
    do throws(JSONError) {
      while let event = try reader.next() {
        switch event {
        case .beginArray, .endArray: break
        case .null: leaves.append(nil)
        case .bool(let value): leaves.append(.bool(value))
        case .integer(let value): leaves.append(.integer(value))
        case .double(let value): leaves.append(.double(value))
        case .string(let value): leaves.append(.string(value))
        default: return nil
        }
      }
      return leaves
    } catch {
      return nil
    }
  }

  private static func refused(_ message: String) -> TreeError { TreeError(.invalidQuery, message) }
}
