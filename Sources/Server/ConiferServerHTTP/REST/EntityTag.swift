import ConiferTree

/// The tag of a version of data: its hash, or `null_etag` for none.
struct EntityTag: Hashable {
  let text: String

  private static let none = "null_etag"

  init(_ node: Node) {
    let hash = NodeHash.hash(node)
    text = hash.isEmpty ? EntityTag.none : hash
  }

  /// A tag as a client says it, in quotes or without, weak or not.
  init(header: String) {
    var rest = Substring(header)
    if rest.hasPrefix("W/") { rest = rest.dropFirst(2) }
    if rest.utf8.count >= 2, rest.first == "\"", rest.last == "\"" {
      rest = rest.dropFirst().dropLast()
    }
    text = String(rest)
  }

  /// The hash that data with the tag has, for a write on its condition; no data's for a tag that
  /// is none.
  var hash: String {
    if text == EntityTag.none { return "" }
    return text.isEmpty ? "-" : text
  }
}
