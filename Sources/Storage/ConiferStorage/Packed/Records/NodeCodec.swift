import ConiferKeyValue
import ConiferTree

/// Whole nodes and paths as bytes, for queued writes.
enum NodeCodec {
  private static let empty: UInt8 = 0
  private static let leaf: UInt8 = 1
  private static let interior: UInt8 = 2
  private static let interiorWithPriority: UInt8 = 3

  static func append(_ node: Node, to writer: inout ByteWriter) {
    if let value = node.leaf {
      writer.byte(leaf)
      LeafCodec.append(value, node.priority, to: &writer)
    } else if node.isEmpty {
      writer.byte(empty)
    } else {
      writer.byte(node.priority == nil ? interior : interiorWithPriority)
      if let priority = node.priority { LeafCodec.append(priority.leaf, nil, to: &writer) }
      writer.varint(node.childCount)
      node.forEachChild { key, child in
        writer.sized(key.string)
        append(child, to: &writer)
      }
    }
  }

  static func node(_ reader: inout ByteReader) -> Node? {
    switch reader.byte() {
    case empty: return .empty
    case leaf:
      guard case .leaf(let value, let priority) = LeafCodec.decode(&reader) else { return nil }
      return Node(value, priority: priority)
    case interior: return children(&reader, nil)
    case interiorWithPriority:
      guard case .leaf(let value, _) = LeafCodec.decode(&reader), let priority = Priority(value)
      else { return nil }
      return children(&reader, priority)
    default: return nil
    }
  }

  private static func children(_ reader: inout ByteReader, _ priority: Priority?) -> Node? {
    guard let count = reader.size() else { return nil }
    var children: [(Key, Node)] = []
    for _ in 0..<count {
      guard let key = reader.text(), let child = node(&reader) else { return nil }
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
