package import ConiferKeyValue

/// A leaf, or the priority of an interior node, under its path key.
package struct Entry: Equatable, Sendable {
  /// The path key, without the tree.
  package let key: Bytes
  /// A `ValueTag`, then the bytes that the tag implies; with the priority flag a second value
  /// follows.
  package let value: Bytes
  /// The encoded leaf behind a reference, while it is being written.
  package var content: Bytes?

  package init(key: Bytes, value: Bytes, content: Bytes? = nil) {
    self.key = key
    self.value = value
    self.content = content
  }

  /// Whether the value is a reference to the chunks of a large leaf.
  package var isLargeLeaf: Bool { value.first.map { $0 & 0x7F == ValueTag.largeLeaf } ?? false }

  package static func == (a: Entry, b: Entry) -> Bool { a.value == b.value && a.key == b.key }
}

/// One changed entry of a run.
package enum EntryChange: Equatable, Sendable {
  case put(Entry)
  case delete(Bytes)

  package var key: Bytes {
    switch self {
    case .put(let entry): entry.key
    case .delete(let key): key
    }
  }
}
