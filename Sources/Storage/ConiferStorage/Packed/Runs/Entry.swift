import ConiferKeyValue

/// A leaf, or the priority of an interior node, under its path key.
struct Entry: Equatable, Sendable {
  /// The path key, without the tree.
  let key: Bytes
  /// The value as `LeafCodec` writes it.
  let value: Bytes
  /// The encoded leaf behind a reference, while it is being written.
  var content: Bytes?

  init(key: Bytes, value: Bytes, content: Bytes? = nil) {
    self.key = key
    self.value = value
    self.content = content
  }

  /// Whether the value is a reference to parts of its own.
  var isExternal: Bool { value.first.map { $0 & 0x7F == LeafCodec.Tag.external } ?? false }

  static func == (a: Entry, b: Entry) -> Bool { a.value == b.value && a.key == b.key }
}

/// One changed entry of a run.
enum EntryChange: Equatable, Sendable {
  case put(Entry)
  case delete(Bytes)

  var key: Bytes {
    switch self {
    case .put(let entry): entry.key
    case .delete(let key): key
    }
  }
}
