import ConiferKeyValue
import ConiferTree

/// Builds a node from its leaves in path order.
struct NodeAssembler {
  private struct Frame {
    let key: Key
    /// Where the bytes of this node's path key end.
    let end: Int
    var children = ContiguousArray<Node.Child>()
    var priority: Priority?
  }

  /// The name of a leaf, and its bytes in a path key.
  private struct Name {
    let segment: Bytes
    let key: Key
  }

  /// How many names are remembered.
  private static let mostNames = 16

  private let order: KeyOrder
  private let base: Int
  private var frames: [Frame]
  /// The path key of the innermost open node.
  private var path: Bytes
  /// How many children the last closed node had: its neighbour will have about as many.
  private var lastWidth = 0
  /// The names of leaves by their position in the last node: its neighbour's will be the same.
  private var names: [Name] = []
  private var root: Node?

  /// An assembler of the node at a path.
  ///
  /// - Parameter path: the path key of the node; all entries begin with it.
  init(at path: Bytes, _ order: KeyOrder) {
    self.order = order
    self.base = path.count
    self.frames = [Frame(key: Key(""), end: path.count)]
    self.path = path
  }

  /// Adds a leaf, or the priority of an interior node; false when the key is no path.
  ///
  /// - Parameter shared: how many bytes at least the key shares with the one that was added before.
  mutating func add(
    _ key: UnsafeRawBufferPointer, sharing shared: Int = 0, _ leaf: consuming Leaf,
    _ priority: Priority?
  ) -> Bool {
    if key.count == base {
      root = Node(leaf, priority: priority)
      return true
    }
    if shared < path.count {
      guard open(key) else { return false }
    }
    var at = path.count
    while at < key.count {
      if key[at] == PathKey.priorityMark, at + 1 == key.count {
        frames[frames.count - 1].priority = Priority(leaf)
        return true
      }
      guard let end = PathKey.segmentEnd(key, at) else { return false }
      if end == key.count {
        guard let name = name(UnsafeRawBufferPointer(rebasing: key[at...])) else { return false }
        return append(name, Node(leaf, priority: priority))
      }
      guard let segment = PathKey.key(key, at..<end, order) else { return false }
      path.append(contentsOf: UnsafeRawBufferPointer(rebasing: key[at..<end]))
      frames.append(Frame(key: segment, end: end))
      frames[frames.count - 1].children.reserveCapacity(lastWidth)
      at = end
    }
    return false
  }

  /// Closes the nodes that a key is not in; false when the keys do not ascend.
  private mutating func open(_ key: UnsafeRawBufferPointer) -> Bool {
    let shared = path.withUnsafeBytes { RunBody.commonPrefix($0, key) }
    guard shared < path.count else { return true }
    while frames.count > 1, frames[frames.count - 1].end > shared {
      guard close() else { return false }
    }
    path.removeLast(path.count - frames[frames.count - 1].end)
    return true
  }

  /// The key of a leaf's segment, or nil when that is none.
  private mutating func name(_ segment: UnsafeRawBufferPointer) -> Key? {
    let position = frames[frames.count - 1].children.count
    if position < names.count,
      names[position].segment.withUnsafeBytes({ compareBytes($0, segment) == 0 })
    {
      return names[position].key
    }
    guard let key = PathKey.key(segment, 0..<segment.count, order) else { return nil }
    if position < names.count {
      names[position] = Name(segment: Bytes(segment), key: key)
    } else if position == names.count, position < Self.mostNames {
      names.append(Name(segment: Bytes(segment), key: key))
    }
    return key
  }

  private mutating func close() -> Bool {
    guard let frame = frames.popLast() else { return true }
    lastWidth = min(frame.children.count, 32)
    let node = node(frame)
    return node.isEmpty || append(frame.key, node)
  }

  /// Adds a child to the innermost open node; false when the keys do not ascend.
  private mutating func append(_ key: consuming Key, _ node: consuming Node) -> Bool {
    let last = frames.count - 1
    let count = frames[last].children.count
    if order == .realtimeDatabase, count > 0, !(frames[last].children[count - 1].key < key) {
      return false
    }
    frames[last].children.append((key, node))
    return true
  }

  private func node(_ frame: Frame) -> Node {
    // Sorted by the store already, unless the tree's order is not the node's own.
    if order == .realtimeDatabase {
      return Node(sortedEntries: frame.children, priority: frame.priority)
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
