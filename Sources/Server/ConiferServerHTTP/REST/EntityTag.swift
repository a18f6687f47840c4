import ConiferTree

/// The ETag of data: its hash, or `null_etag` for none.
struct EntityTag: Hashable {
  let text: String

  private static let none = "null_etag"

  init(_ node: Node) {
    let hash = NodeHash.hash(node)
    text = hash.isEmpty ? EntityTag.none : hash
  }

  /// Parses a client's tag, with or without quotes, weak or not.
  init(header: String) {
    var rest = Substring(header)
    if rest.hasPrefix("W/") { rest = rest.dropFirst(2) }
    if rest.utf8.count >= 2, rest.first == "\"", rest.last == "\"" {
      rest = rest.dropFirst().dropLast()
    }
    text = String(rest)
  }

  /// The hash of data with the tag, for a conditional write; an invalid tag matches no data.
  var hash: String {
    if text == EntityTag.none { return "" }
    return text.isEmpty ? "-" : text
  }
}
