import ConiferTree

/// A node of the page with the first of its children.
struct PageWindow {
  /// A requested window.
  struct Wanted {
    let path: Path
    let limit: Int
    /// The tag of the window that the page has.
    let known: String
  }

  /// The maximum numbers of windows in one request, of children in one window, and of children in
  /// all windows.
  static let most = (windows: 500, children: 5000, all: 20_000)

  var item: PageItem
  var children: [PageItem]
  /// Whether the node has children beyond these.
  var hasMore: Bool

  /// Reads a request: `{"windows": [{"path": "/a", "limit": 200, "known": "…"}]}`.
  static func wanted(_ body: [UInt8]) throws(PageRefusal) -> [Wanted] {
    let node: Node
    do throws(JSONError) {
      node = try Node(json: body)
    } catch {
      throw PageRefusal(400, "The body is not what the page sends: \(error.message)")
    }
    var left = most.all
    return node["windows" as Key].children.prefix(most.windows).map { _, wanted in
      // The number is bounded before the conversion to an integer, which it could overflow.
      let asked = min(max(1, wanted["limit" as Key].leaf?.number ?? 200), Double(most.children))
      let limit = min(Int(asked), left)
      left -= limit
      return Wanted(
        path: Path(wanted["path" as Key].text), limit: limit, known: wanted["known" as Key].text)
    }
  }

  /// The answer to a request; a window that the page already has is not sent again.
  static func json(_ windows: [PageWindow], for wanted: [Wanted]) -> [UInt8] {
    var bytes = Array(#"{"windows":["#.utf8)
    for (number, (window, wanted)) in zip(windows, wanted).enumerated() {
      if number > 0 { bytes.append(UInt8(ascii: ",")) }
      let content = window.json
      let tag = Self.tag(content)
      bytes.append(contentsOf: #"{"tag":"\#(tag)""#.utf8)
      if tag != wanted.known {
        bytes.append(contentsOf: #","window":"#.utf8)
        bytes.append(contentsOf: content)
      }
      bytes.append(UInt8(ascii: "}"))
    }
    bytes.append(contentsOf: "]}".utf8)
    return bytes
  }

  var json: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("item")
    item.write(to: &writer)
    writer.member("more", hasMore)
    writer.key("children")
    writer.beginArray()
    for child in children { child.write(to: &writer) }
    writer.endArray()
    writer.endObject()
    return writer.bytes
  }

  /// A tag that distinguishes contents, not a cryptographic one: FNV-1a.
  private static func tag(_ bytes: [UInt8]) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, radix: 36)
  }
}

extension PageWindow {
  /// A window of a node that is in memory.
  init(_ node: Node, limit: Int) {
    item = PageItem(nil, node)
    children = node.children.prefix(limit).map { PageItem($0.key, $0.node) }
    hasMore = node.childCount > limit
  }
}

extension Node {
  /// The text of a leaf; empty otherwise.
  fileprivate var text: String {
    if case .string(let text)? = leaf { return text }
    return ""
  }
}
