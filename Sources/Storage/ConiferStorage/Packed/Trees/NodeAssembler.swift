import ConiferKeyValue
import ConiferLeafStore
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
    /// How long the key is in UTF-8.
    let size: Int
    /// Whether it is greater than the previous name.
    var ascends = true

    init(_ segment: UnsafeRawBufferPointer, _ key: Key) {
      self.segment = Bytes(segment)
      self.key = key
      size = key.utf8Count
    }
  }

  /// How many names are remembered.
  private static let mostNames = 16

  private let order: KeyOrder
  private var base: Int
  private var frames: [Frame]
  /// The path key of the innermost open node.
  private var path: Bytes
  /// The number of children of the last closed node, as an estimate for its sibling.
  private var lastWidth = 0
  /// The names of leaves by their position in the last node: siblings often have the same ones.
  private var names: [Name] = []
  /// The entries of the current run, and what decodes its leaves with the current names.
  private var entries: EntryList?
  private var runLeaves: RunLeaves?
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

  /// Begins another node and keeps the names of the last one.
  ///
  /// - Parameter path: the path key of the node; all entries begin with it.
  mutating func restart(at path: Bytes) {
    base = path.count
    frames.removeAll(keepingCapacity: true)
    frames.append(Frame(key: Key(""), end: path.count))
    frames[0].children.reserveCapacity(lastWidth)
    self.path = path
    root = nil
  }

  /// Adds a leaf, or the priority of an interior node; false when the key is not a path, or the
  /// priority is invalid.
  mutating func add(
    _ key: UnsafeRawBufferPointer, _ leaf: consuming Leaf, _ priority: Priority?
  ) -> Bool {
    if key.count == base {
      root = Node(leaf, priority: priority)
      return true
    }
    guard closeNodes(notAbove: key) else { return false }
    var at = path.count
    while at < key.count {
      if key[at] == PathKey.priorityMark, at + 1 == key.count {
        frames[frames.count - 1].priority = Priority(leaf)
        return frames[frames.count - 1].priority != nil
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

  /// Closes the open nodes that do not contain a key; false when the keys do not ascend.
  private mutating func closeNodes(notAbove key: UnsafeRawBufferPointer) -> Bool {
    let shared = path.withUnsafeBytes { commonPrefix($0, key) }
    guard shared < path.count else { return true }
    while frames.count > 1, frames[frames.count - 1].end > shared {
      guard close() else { return false }
    }
    path.removeLast(path.count - frames[frames.count - 1].end)
    return true
  }

  /// The key of a leaf's segment, or nil when the bytes are not a segment.
  private mutating func name(_ segment: UnsafeRawBufferPointer) -> Key? {
    let position = frames[frames.count - 1].children.count
    if isKnown(segment, position) { return names[position].key }
    guard let key = PathKey.key(segment, 0..<segment.count, order) else { return nil }
    remember(segment, key, position)
    return key
  }

  private func isKnown(_ segment: UnsafeRawBufferPointer, _ position: Int) -> Bool {
    position < names.count
      && names[position].segment.withUnsafeBytes { compareBytes($0, segment) == 0 }
  }

  /// Remembers the name of the leaf at a position of the last node.
  private mutating func remember(_ segment: UnsafeRawBufferPointer, _ key: Key, _ position: Int) {
    guard position <= names.count, position < Self.mostNames else { return }
    let name = Name(segment, key)
    runLeaves = nil
    if position < names.count { names[position] = name } else { names.append(name) }
    for index in position...(position + 1) where index > 0 && index < names.count {
      names[index].ascends = names[index - 1].key < names[index].key
    }
  }

  /// Begins a run, whose entries are lent to `addLazily`.
  mutating func beginRun(_ run: EntryList) {
    entries = run
    runLeaves = nil
  }

  /// Adds the node that begins with an entry without decoding its leaves, if it has only plain leaves; they
  /// are decoded when they are first looked at.
  ///
  /// - Parameters:
  ///   - entries: of the run at hand, lent.
  ///   - end: behind the last entry that may belong to the node; the next one, if there is one in the
  ///     run, does not.
  /// - Returns: how many entries it took, 0 when they must be added one by one, nil when the key is
  ///   no path.
  mutating func addLazily(
    _ entries: borrowing EntryList.Lent, from first: Int, to end: Int
  ) -> Int? {
    let key = entries.key(first)
    guard key.count > base, closeNodes(notAbove: key) else { return key.count > base ? nil : 0 }
    let start = path.count
    guard let stop = PathKey.segmentEnd(key, start), stop < key.count else { return 0 }
    let parent = UnsafeRawBufferPointer(rebasing: key[..<stop])
    var index = first
    var sizes = 0
    while index < end {
      let key = entries.key(index)
      guard key.count > stop,
        compareBytes(UnsafeRawBufferPointer(rebasing: key[..<stop]), parent) == 0
      else { break }
      let segment = UnsafeRawBufferPointer(rebasing: key[stop...])
      let position = index - first
      if !isKnown(segment, position) {
        guard position < Self.mostNames, PathKey.segmentEnd(segment, 0) == segment.count,
          let name = PathKey.key(segment, 0..<segment.count, order)
        else { return 0 }
        remember(segment, name, position)
      }
      guard names[position].ascends, let size = LeafCodec.plainSize(entries.value(index)) else {
        return 0
      }
      sizes += names[position].size + 4 + size
      index += 1
    }
    // A node at the end of the run may continue in the next one.
    guard index < entries.count, let name = PathKey.key(key, start..<stop, order) else { return 0 }
    guard let runLeaves = leaves(index - first) else { return 0 }
    let leaves = LazyLeaves(runLeaves, first, index, count: index - first, size: sizes)
    return append(name, leaves.node) ? index - first : nil
  }

  /// A decoder of leaves with the current names; nil without a run, or when a name is not known.
  private mutating func leaves(_ count: Int) -> RunLeaves? {
    if let runLeaves { return runLeaves }
    guard let entries, count <= names.count else { return nil }
    let fresh = RunLeaves(entries, names: ContiguousArray(names.map(\.key)))
    runLeaves = fresh
    return fresh
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
    // The store has sorted them, unless the tree's order is not the node's.
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
    lastWidth = min(frames[0].children.count, 32)
    return frames[0].children.isEmpty ? .empty : node(frames[0])
  }
}
