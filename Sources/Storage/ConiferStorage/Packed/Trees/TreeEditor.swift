import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Writes nodes into one tree within a commit, by the rules of the Realtime Database's tree.
struct TreeEditor {
  let runs: RunEditor
  let order: KeyOrder

  /// Replaces the node at a path.
  func overwrite(_ path: Path, _ node: Node) throws(StoreError) {
    if let last = path.last, last.isPriority, let parent = path.parent {
      return try setPriority(PathKey.encode(parent, order), parent, node)
    }
    if path.keys.contains(where: \.isPriority) {
      throw StoreError(
        .invalid, "\(path) goes through .priority, which has no children: end the path there.")
    }
    let key = PathKey.encode(path, order)
    if let above = try leafAbove(key) {
      // Nothing can be deleted below a leaf; anything else turns the leaf into an interior node.
      if node.isEmpty { return }
      try runs.delete(above.key)
      switch LeafCodec.decode(above.value) {
      case .leaf(_, let priority?), .largeLeaf(_, let priority?):
        try putPriority(above.key, priority)
      default: break
      }
    }
    let entries = NodeFlattener.entries(node, at: key, order)
    try runs.replace(key, key + [PathKey.endMark], with: entries)
    if node.isEmpty { try collapse(from: path.parent) }
  }

  /// The leaf at an ancestor of a path: the entry before it, if that is a prefix.
  private func leafAbove(_ key: Bytes) throws(StoreError) -> Entry? {
    guard !key.isEmpty, let entry = try runs.lastEntry(before: key) else { return nil }
    return key.starts(with: entry.key) ? entry : nil
  }

  private func putPriority(_ key: Bytes, _ priority: Priority) throws(StoreError) {
    try runs.put(
      Entry(key: key + [PathKey.priorityMark], value: LeafCodec.encode(priority.leaf, nil)))
  }

  /// Sets or removes the priority of a node that exists; does nothing when there is none.
  private func setPriority(_ key: Bytes, _ path: Path, _ node: Node) throws(StoreError) {
    var priority: Priority?
    if !node.isEmpty {
      guard let leaf = node.leaf, let known = Priority(leaf) else {
        throw StoreError(
          .invalid,
          "\(path) cannot have this priority: give a string, a number, a server value, or nothing to remove it."
        )
      }
      priority = known
    }
    guard let first = try runs.firstEntry(key, key + [PathKey.endMark]) else { return }
    if first.key != key {
      let mark = key + [PathKey.priorityMark]
      if let priority { try putPriority(key, priority) } else { try runs.delete(mark) }
      return
    }
    switch LeafCodec.decode(first.value) {
    case .leaf(let leaf, _):
      try runs.put(Entry(key: key, value: LeafCodec.encode(leaf, priority)))
    case .largeLeaf(let reference, _):
      let rest = priority.map { LeafCodec.encode($0.leaf, nil) } ?? []
      let changed = LargeLeafReference(number: reference.number, count: reference.count, rest: rest)
      try runs.put(Entry(key: key, value: changed.value))
    case nil:
      let run = try runs.foundRun(covering: key)?.storeKey
      throw Damage.error(Spaces.runs, run ?? StoreKey.prefix(runs.tree))
    }
  }

  /// Removes the priorities of a node and of its ancestors that have no child left.
  private func collapse(from path: Path?) throws(StoreError) {
    var place = path
    while let here = place {
      let key = PathKey.encode(here, order)
      let low = key + [PathKey.priorityMark + 1]
      if try runs.firstEntry(low, key + [PathKey.endMark]) != nil { return }
      try runs.delete(key + [PathKey.priorityMark])
      place = here.parent
    }
  }

  /// Removes the data that a forest prunes, except what a pin protects.
  func prune(_ forest: PruneForest, pinned: [Path]) throws(StoreError) {
    for range in PruneRanges.ranges(forest, pinned: pinned, order) {
      try runs.replace(range.low, range.high, with: EntryList())
    }
    for (path, marker) in forest.markers where marker == .prune {
      try collapse(from: path)
    }
  }
}

/// The leaves of a node as entries in path order.
struct NodeFlattener {
  private let order: KeyOrder
  private(set) var entries = EntryList()

  /// The entries of a node at a path.
  static func entries(_ node: Node, at path: Bytes, _ order: KeyOrder) -> EntryList {
    var flattener = NodeFlattener(order: order)
    var key = path
    let leaves = node.leafCount
    if leaves > 1 {
      // About as much as nodes of short keys take.
      flattener.entries.reserveCapacity(
        leaves, keys: leaves * (path.count + 32), values: min(node.estimatedSize, leaves << 10))
    }
    flattener.append(node, &key)
    return flattener.entries
  }

  private init(order: KeyOrder) { self.order = order }

  private mutating func append(_ node: Node, _ key: inout Bytes) {
    if let leaf = node.leaf {
      entries.append(key, leaf, node.priority)
      return
    }
    if let priority = node.priority {
      entries.append(
        Entry(key: key + [PathKey.priorityMark], value: LeafCodec.encode(priority.leaf, nil)))
    }
    let end = key.count
    if order == .realtimeDatabase {
      node.forEachChild { segment, child in
        PathKey.append(segment, order, to: &key)
        append(child, &key)
        key.removeLast(key.count - end)
      }
      return
    }
    // A tree with an order of its own: sort by its bytes.
    let children = node.children.map { child in
      var bytes = Bytes()
      PathKey.append(child.key, order, to: &bytes)
      return (bytes, child.node)
    }
    for (segment, child) in children.sorted(by: { bytesPrecede($0.0, $1.0) }) {
      key += segment
      append(child, &key)
      key.removeLast(key.count - end)
    }
  }
}
