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

  /// About what it adds to a run's body.
  var weight: Int { value.count + key.count / 4 + 3 }

  static func == (a: Entry, b: Entry) -> Bool { a.value == b.value && a.key == b.key }
}

extension [Entry] {
  /// The index of the first entry at or after a key.
  func lowerBound(_ key: Bytes) -> Int {
    var low = startIndex
    var high = endIndex
    while low < high {
      let middle = (low + high) / 2
      if compareBytes(self[middle].key, key) < 0 { low = middle + 1 } else { high = middle }
    }
    return low
  }
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

  var weight: Int {
    switch self {
    case .put(let entry): entry.key.count + entry.value.count + 4
    case .delete(let key): key.count + 3
    }
  }
}
