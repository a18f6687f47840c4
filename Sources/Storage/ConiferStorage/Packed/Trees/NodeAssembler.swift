import ConiferKeyValue
import ConiferTree

/// Builds a node from its leaves in path order.
struct NodeAssembler {
  private struct Frame {
    let key: Key
    /// Where the bytes of this node's path key end.
    let end: Int
    var children: [(key: Key, node: Node)] = []
    var priority: Priority?
  }

  private let order: KeyOrder
  private let base: Int
  private var frames: [Frame]
  private var previous: Bytes
  private var root: Node?

  /// An assembler of the node at a path.
  ///
  /// - Parameter path: the path key of the node; all entries begin with it.
  init(at path: Bytes, _ order: KeyOrder) {
    self.order = order
    self.base = path.count
    self.frames = [Frame(key: Key(""), end: path.count)]
    self.previous = path
  }

  /// Adds a leaf, or the priority of an interior node; false when the key is no path.
  mutating func add(_ key: Bytes, _ leaf: Leaf, _ priority: Priority?) -> Bool {
    if key.count == base {
      root = Node(leaf, priority: priority)
      return true
    }
    let shared = max(base, RunBody.commonPrefix(previous, key))
    while let last = frames.last, last.end > shared, frames.count > 1 {
      guard close() else { return false }
    }
    // Copied, not shared: whoever lends the key goes on writing into it.
    previous.removeLast(previous.count - min(shared, previous.count))
    previous.append(contentsOf: key[previous.count...])
    return key.withUnsafeBytes { bytes in
      var at = frames[frames.count - 1].end
      while at < bytes.count {
        if bytes[at] == PathKey.priorityMark, at + 1 == bytes.count {
          frames[frames.count - 1].priority = Priority(leaf)
          return true
        }
        guard let end = PathKey.segmentEnd(bytes, at),
          let segment = PathKey.key(bytes, at..<end, order)
        else { return false }
        if end == bytes.count {
          return append(segment, Node(leaf, priority: priority))
        }
        frames.append(Frame(key: segment, end: end))
        at = end
      }
      return false
    }
  }

  private mutating func close() -> Bool {
    guard let frame = frames.popLast() else { return true }
    let node = node(frame)
    return node.isEmpty || append(frame.key, node)
  }

  /// Adds a child to the innermost open node; false when the keys do not ascend.
  private mutating func append(_ key: Key, _ node: Node) -> Bool {
    let last = frames.count - 1
    if order == .realtimeDatabase, let before = frames[last].children.last, !(before.key < key) {
      return false
    }
    frames[last].children.append((key, node))
    return true
  }

  private func node(_ frame: Frame) -> Node {
    // Sorted by the store already, unless the tree's order is not the node's own.
    if order == .realtimeDatabase {
      return Node(sortedChildren: frame.children, priority: frame.priority)
    }
    return Node(children: frame.children.map { ($0.key, $0.node) }, priority: frame.priority)
  }

  /// The node of all that was added, or nil when the keys did not ascend.
  mutating func finish() -> Node? {
    if let root { return root }
    while frames.count > 1 {
      guard close() else { return nil }
    }
    return frames[0].children.isEmpty ? .empty : node(frames[0])
  }
}
