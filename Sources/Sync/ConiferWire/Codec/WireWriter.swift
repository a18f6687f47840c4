import ConiferQuery
import ConiferTree

/// Writes the text of one message.
struct WireWriter {
  private var json = JSONWriter()

  /// The text of a message about data (`d`) or about the connection (`c`).
  ///
  /// - Parameters:
  ///   - kind: `d` or `c`.
  ///   - marksDoubles: whether a double is written so that it differs from an equal integer.
  ///   - write: writes the members of the content.
  static func message(
    _ kind: String, marksDoubles: Bool = false, _ write: (inout WireWriter) -> Void
  ) -> [UInt8] {
    var writer = WireWriter()
    writer.json.marksDoubles = marksDoubles
    writer.json.beginObject()
    writer.string("t", kind)
    writer.object("d", write)
    writer.json.endObject()
    return writer.json.bytes
  }

  mutating func object(_ name: String, _ write: (inout WireWriter) -> Void) {
    json.key(name)
    json.beginObject()
    write(&self)
    json.endObject()
  }

  mutating func string(_ name: String, _ text: String?) {
    guard let text else { return }
    json.key(name)
    json.string(text)
  }

  mutating func integer(_ name: String, _ value: Int64?) {
    guard let value else { return }
    json.key(name)
    json.integer(value)
  }

  mutating func number(_ value: UInt64) { integer("r", Int64(clamping: value)) }

  mutating func tag(_ tag: Int?) { integer("t", tag.map { Int64($0) }) }

  mutating func bool(_ name: String, _ value: Bool) {
    json.key(name)
    json.bool(value)
  }

  mutating func null(_ name: String) {
    json.key(name)
    json.null()
  }

  mutating func empty(_ name: String) { object(name) { _ in } }

  /// A path as clients write it, with a slash before each key.
  mutating func clientPath(_ path: Path) { string("p", "/" + Self.text(path)) }

  /// A path as servers write it, with slashes between keys.
  mutating func serverPath(_ name: String, _ path: Path?) { string(name, path.map(Self.text)) }

  private static func text(_ path: Path) -> String {
    path.keys.map(\.string).joined(separator: "/")
  }

  mutating func node(_ name: String, _ node: Node) {
    json.key(name)
    node.write(to: &json, .export)
  }

  mutating func changes(_ changes: [NodeChange]) {
    object("d") { writer in
      for change in changes { writer.node(Self.text(change.path), change.node) }
    }
  }

  mutating func ranges(_ ranges: [RangeMerge]) {
    json.key("d")
    json.beginArray()
    for range in ranges {
      json.beginObject()
      serverPath("s", range.start)
      serverPath("e", range.end)
      node("m", range.node)
      json.endObject()
    }
    json.endArray()
  }

  mutating func strings(_ name: String, _ texts: [String]) {
    json.key(name)
    json.beginArray()
    for text in texts { json.string(text) }
    json.endArray()
  }

  mutating func compoundHash(_ hash: CompoundHash?) {
    guard let hash else { return }
    object("ch") { writer in
      writer.strings("hs", hash.hashes)
      writer.strings("ps", hash.paths.map(Self.text))
    }
  }

  /// A query; members in the order of their names.
  mutating func query(_ spec: QuerySpec) {
    json.key("q")
    spec.write(to: &json)
  }

  /// A query as servers write it, in a list of its own.
  mutating func queries(_ spec: QuerySpec) {
    json.key("q")
    json.beginArray()
    spec.write(to: &json)
    json.endArray()
  }
}
