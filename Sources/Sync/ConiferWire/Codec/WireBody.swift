import ConiferQuery
import ConiferTree

/// The members that the body of a request, an answer or a push may have.
struct WireBody {
  var path: Path?
  /// The member `d`; how it is read depends on the action.
  var node: Node?
  var changes: [NodeChange]?
  var ranges: [RangeMerge] = []
  var hash: String?
  var query: Result<QuerySpec, TreeError>?
  var tag: Int?
  var compound: CompoundHash?
  var credential: String?
  /// The claims that an administrator asks for.
  var claims: Node?
  var isNobody = false
  var token: String?
  var counters: [String: Int] = [:]
  var status: String?
  var words: String?
  /// Why data in it is none that a tree can hold.
  var invalid: String?

  init() {}

  /// Reads a body.
  ///
  /// - Parameters:
  ///   - reader: where the body is the next value.
  ///   - action: the action of the message; nil for an answer.
  init(_ reader: inout WireReader, _ action: String?) throws(WireError) {
    try reader.object { (reader, name) throws(WireError) in
      switch name {
      case "p": path = try reader.string().map { Path($0) }
      case "d":
        switch action {
        case "m", "om": changes = try reader.changes()
        case "rm": ranges = try reader.ranges()
        default: node = try reader.node()
        }
      case "h": hash = try reader.string()
      case "q": query = try reader.query()
      case "t": tag = try reader.integer().flatMap { Int(exactly: $0) }
      case "ch": compound = try reader.compoundHash()
      case "cred": credential = try reader.string()
      case "authvar":
        claims = try reader.optionalNode()
        if claims == nil { isNobody = true }
      case "noauth":
        // `authvar: null` and `noauth: true` mean the same, and may both be there.
        if try reader.bool() { isNobody = true }
      case "token": token = try reader.string()
      case "c": counters = try reader.counters()
      case "s": status = try reader.string()
      case "msg": words = try reader.string()
      default: try reader.skip()
      }
    }
    invalid = reader.invalid
  }

  /// Refuses data that no tree can hold.
  func requireTree() throws(WireError) {
    // The words may quote data.
    if invalid != nil { throw WireError(.malformed, "A message has data that no tree can hold.") }
  }

  /// The path of the message.
  func requiredPath() throws(WireError) -> Path {
    if let path { return path }
    throw WireError(.malformed, "A message has no path.")
  }

  /// The node to be written; null deletes, a missing one is an error.
  func requiredNode() throws(WireError) -> Node {
    if let node { return node }
    throw WireError(.malformed, "A write has no data.")
  }

  /// The nodes to be written.
  func requiredChanges() throws(WireError) -> [NodeChange] {
    if let changes { return changes }
    throw WireError(.malformed, "A write has no data.")
  }

  /// The target; nil when the query makes no sense.
  func target() throws(WireError) -> QueryTarget? {
    let path = try requiredPath()
    switch query {
    case nil: return QueryTarget(path)
    case .success(let spec)?: return QueryTarget(path, spec)
    case .failure?: return nil
    }
  }

  /// The text of `d`; nil when it is not a string, or empty.
  var reason: String? {
    guard case .string(let text)? = node?.leaf, !text.isEmpty else { return nil }
    return text
  }
}

extension Leaf {
  /// The text of a string; nil for others.
  var text: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// The text of a string, or another value's description.
  var words: String { text ?? "\(self)" }
}
