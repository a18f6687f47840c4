import ConiferTree

/// A node as a row of the page: without its children, and with the beginning of a long text.
struct PageItem {
  /// The maximum number of Unicode scalars of a text in a row.
  static let shown = 256

  /// What the node is, as JSON names types.
  enum Form {
    case null
    case string(String, cut: Bool)
    case number(String)
    case boolean(Bool)
    /// A value that the server fills in, as JSON.
    case server(String)
    /// A value of a kind that JSON has no type for, in words.
    case special(String)
    /// Children: their number as far as it is known, with all leaves and bytes below.
    case object(count: Int?, leaves: Int?, bytes: Int?)
  }

  var key: Key?
  var form: Form
  /// The priority as JSON.
  var priority: String?

  init(_ key: Key?, _ form: Form, priority: Priority?) {
    self.key = key
    self.form = form
    self.priority = priority.map { Self.text($0.leaf) }
  }

  init(_ key: Key?, _ node: Node) {
    let form: Form
    switch node.leaf {
    case .string(let text)?:
      let isLong = text.utf8.count > Self.shown
      let start =
        isLong ? String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.shown))) : text
      form = .string(start, cut: start.utf8.count < text.utf8.count)
    case .bool(let flag)?: form = .boolean(flag)
    case .serverValue?: form = .server(node.leaf.map(Self.text) ?? "")
    case let leaf?: form = .number(Self.text(leaf))
    case nil where node.isEmpty: form = .null
    case nil:
      form = .object(count: node.childCount, leaves: node.leafCount, bytes: node.estimatedSize)
    }
    self.init(key, form, priority: node.priority)
  }

  private static func text(_ leaf: Leaf) -> String {
    var writer = JSONWriter()
    writer.leaf(leaf)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    if let key { writer.member("key", key.string) }
    // Numbers are sent as strings: JavaScript's numbers have 53 bits, the tree's integers 64.
    switch form {
    case .null: writer.member("type", "null")
    case .string(let text, let isCut):
      writer.member("type", "string")
      writer.member("text", text)
      if isCut { writer.member("cut", true) }
    case .number(let text):
      writer.member("type", "number")
      writer.member("text", text)
    case .boolean(let flag):
      writer.member("type", "boolean")
      writer.member("text", flag ? "true" : "false")
    case .server(let text):
      writer.member("type", "server")
      writer.member("text", text)
    case .special(let text):
      writer.member("type", "special")
      writer.member("text", text)
    case .object(let count, let leaves, let bytes):
      writer.member("type", "object")
      if let count { writer.member("count", Int64(count)) }
      if let leaves { writer.member("leaves", Int64(leaves)) }
      if let bytes { writer.member("bytes", Int64(bytes)) }
    }
    if let priority { writer.member("priority", priority) }
    writer.endObject()
  }
}
