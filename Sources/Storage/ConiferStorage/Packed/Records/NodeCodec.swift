import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Whole nodes and paths as bytes, for queued writes.
enum NodeCodec {
  /// What a node is, in the byte that it begins with.
  enum Form: UInt8 {
    case empty = 0
    case leaf = 1
    case interior = 2
    case interiorWithPriority = 3

    init?(_ byte: UInt8?) {
      guard let byte else { return nil }
      self.init(rawValue: byte)
    }
  }

  static func append(_ node: Node, to writer: inout ByteWriter) {
    if let value = node.leaf {
      writer.byte(Form.leaf.rawValue)
      LeafCodec.append(value, node.priority, to: &writer)
    } else if node.isEmpty {
      writer.byte(Form.empty.rawValue)
    } else {
      let form = node.priority == nil ? Form.interior : .interiorWithPriority
      writer.byte(form.rawValue)
      if let priority = node.priority { LeafCodec.append(priority.leaf, nil, to: &writer) }
      writer.varint(node.childCount)
      node.forEachChild { key, child in
        writer.sized(key.string)
        append(child, to: &writer)
      }
    }
  }

  /// The most levels of keys in a node, four times those of a client's writes: bytes that nest more deeply are damaged
  /// or forged, and reading them could overflow the stack.
  static let deepest = 4 * Path.deepest

  /// Reads a node; nil for bytes that are none, or that nest too deeply.
  ///
  /// - Parameter depth: how many keys lead to it.
  static func node(_ reader: inout ByteReader, depth: Int = 0) -> Node? {
    switch Form(reader.byte()) {
    case .empty: return .empty
    case .leaf:
      guard let (value, priority) = LeafCodec.leaf(&reader) else { return nil }
      return Node(value, priority: priority)
    case .interior: return children(&reader, nil, depth)
    case .interiorWithPriority:
      guard let (value, _) = LeafCodec.leaf(&reader), let priority = Priority(value)
      else { return nil }
      return children(&reader, priority, depth)
    case nil: return nil
    }
  }

  private static func children(
    _ reader: inout ByteReader, _ priority: Priority?, _ depth: Int
  ) -> Node? {
    guard depth < deepest, let count = reader.size() else { return nil }
    var children: [(Key, Node)] = []
    for _ in 0..<count {
      guard let key = reader.text(), let child = node(&reader, depth: depth + 1) else { return nil }
      children.append((Key(key), child))
    }
    return Node(children: children, priority: priority)
  }

  static func append(_ path: Path, to writer: inout ByteWriter) {
    writer.varint(path.count)
    for key in path.keys { writer.sized(key.string) }
  }

  static func path(_ reader: inout ByteReader) -> Path? {
    guard let count = reader.size() else { return nil }
    var keys: [Key] = []
    for _ in 0..<count {
      guard let key = reader.text() else { return nil }
      keys.append(Key(key))
    }
    return Path(keys)
  }
}
