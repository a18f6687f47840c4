import ConiferQuery
import ConiferTree

/// The members that the body of a request, an answer or a push may have.
struct WireBody {
  /// The member `d`; how it is read depends on the action.
  enum Data {
    case none
    case node(Node)
    case changes([NodeChange])
    case ranges([RangeMerge])
  }

  var path: Path?
  var data = Data.none
  var hash: String?
  var query: Result<QuerySpec, TreeError>?
  var tag: Int?
  var compound: CompoundHash?
  /// The token of the client (`cred`), or of its app (`token`).
  var token: String?
  /// As whom an administrator wants to act.
  var override: Credential.Override?
  var counters: [String: Int] = [:]
  var status: String?
  var words: String?
  /// Why no tree can hold its data; nil when one can.
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
        case "m", "om": data = .changes(try reader.changes())
        case "rm": data = .ranges(try reader.ranges())
        default: data = .node(try reader.node())
        }
      case "h": hash = try reader.string()
      case "q": query = try reader.query()
      case "t": tag = try reader.integer().flatMap { Int(exactly: $0) }
      case "ch": compound = try reader.compoundHash()
      case "cred" where action != "appcheck": token = try reader.string()
      case "token" where action == "appcheck": token = try reader.string()
      case "authvar":
        let claims = try reader.optionalNode()
        // `authvar: null` and `noauth: true` mean the same, and may both be there.
        if override != .nobody {
          override = claims.map { Credential.Override.claims($0) } ?? .nobody
        }
      case "noauth": if try reader.bool() { override = .nobody }
      case "c": counters = try reader.counters()
      case "s": status = try reader.string()
      case "msg": words = try reader.string()
      default: try reader.skip()
      }
    }
    invalid = reader.invalid
  }

  var node: Node? { if case .node(let node) = data { node } else { nil } }
  var changes: [NodeChange]? { if case .changes(let changes) = data { changes } else { nil } }
  var ranges: [RangeMerge] { if case .ranges(let ranges) = data { ranges } else { [] } }

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

  /// The target; nil when the query is invalid.
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
