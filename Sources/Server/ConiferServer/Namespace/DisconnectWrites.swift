import ConiferTree

/// What is to be written when a session ends, in the order in which it was asked for: what one
/// request asked for is one write, as far as nothing came over it and nothing took it back since.
struct DisconnectWrites: Sendable {
  /// What is left of one request.
  struct Unit: Sendable {
    /// The path that the client named.
    let base: Path
    /// In path order, priorities behind their nodes' children.
    var changes: [NodeChange]
    /// Whether it was an update, or is no longer what was asked for.
    var isMerge: Bool
  }

  /// A node to write. There may be others below it, of later requests alone.
  private struct Entry: Sendable {
    let unit: UInt64
    /// How many keys of the path are those that the client named.
    let depth: Int
    var isMerge: Bool
    var node: Node
    var bytes: Int
  }

  private struct Place: Sendable {
    var entry: Entry?
    var below: [Key: Place] = [:]
    /// What is here and below.
    var bytes = 0

    var isVoid: Bool { entry == nil && below.isEmpty }
  }

  private var top = Place()
  private var lastUnit: UInt64 = 0

  /// About the memory that it takes.
  var bytes: Int { top.bytes }

  var isEmpty: Bool { top.isVoid }

  /// By how many bytes it would grow at most.
  func growth(by changes: [NodeChange]) -> Int {
    changes.reduce(0) { sum, change in
      var place: Place? = top
      for key in change.path.keys { place = place?.below[key] }
      return sum + Self.cost(change.node, change.path.count) - (place?.bytes ?? 0)
    }
  }

  /// By how many bytes it would grow if a path were forgotten, as nodes above it are taken apart.
  func growth(byForgetting path: Path) -> Int {
    var sum = 0
    var place: Place? = top
    /// The part of a node above, where nothing later takes its place.
    var part: Node?
    for (depth, key) in path.keys.enumerated() {
      let node = place?.entry?.node ?? part
      part = nil
      if let node, !node.isLeaf {
        sum -= Self.cost(node, depth)
        for child in node.children where place?.below[child.key]?.entry == nil {
          sum += Self.cost(child.node, depth + 1)
          if child.key == key { part = child.node }
        }
        if let priority = node.priority, place?.below[.priority]?.entry == nil {
          sum += Self.cost(Node(priority.leaf), depth + 1)
        }
      }
      place = place?.below[key]
    }
    return sum - (place?.bytes ?? 0) - (part.map { Self.cost($0, path.keys.count) } ?? 0)
  }

  /// Remembers to replace nodes by one write; what was to be written there and below is forgotten.
  ///
  /// - Parameter base: the path that the client named, at or above all changes.
  mutating func remember(_ changes: [NodeChange], base: Path, isMerge: Bool) {
    lastUnit += 1
    for change in changes {
      let entry = Entry(
        unit: lastUnit, depth: base.count, isMerge: isMerge, node: change.node,
        bytes: Self.cost(change.node, change.path.count))
      Self.remember(entry, change.path.keys[...], &top)
    }
  }

  /// Forgets what was to happen at a path and below it. A node that was to be written above it is
  /// written child by child, but for the one towards the path.
  mutating func forget(_ path: Path) { Self.forget(path.keys[...], path.count, &top) }

  /// What is to be written, a write for each request, in their order.
  var units: [Unit] {
    var units: [UInt64: Unit] = [:]
    Self.visit(top, .root) { path, entry in
      let change = NodeChange(path, entry.node)
      if units[entry.unit] == nil {
        let base = Path(Array(path.keys.prefix(entry.depth)))
        units[entry.unit] = Unit(base: base, changes: [change], isMerge: entry.isMerge)
      } else {
        units[entry.unit]?.changes.append(change)
        units[entry.unit]?.isMerge = true
      }
      return true
    }
    return units.sorted { $0.key < $1.key }.map(\.value)
  }

  /// The first places that are to be written, in path order.
  func changes(atMost count: Int) -> [NodeChange] {
    var changes: [NodeChange] = []
    Self.visit(top, .root) { path, entry in
      if changes.count < count { changes.append(NodeChange(path, entry.node)) }
      return changes.count < count
    }
    return changes
  }

  /// A place takes its part of the path and the table that it is in, and a leaf its own of the node.
  private static func cost(_ node: Node, _ depth: Int) -> Int {
    128 + 32 * depth + (node.isEmpty ? 0 : node.estimatedSize + 64 * node.leafCount)
  }

  private static func remember(_ entry: Entry, _ keys: ArraySlice<Key>, _ place: inout Place) {
    guard let key = keys.first else {
      place = Place(entry: entry, bytes: entry.bytes)
      return
    }
    let before = place.below[key]?.bytes ?? 0
    remember(entry, keys.dropFirst(), &place.below[key, default: Place()])
    place.bytes += (place.below[key]?.bytes ?? 0) - before
  }

  private static func forget(_ keys: ArraySlice<Key>, _ depth: Int, _ place: inout Place) {
    guard let key = keys.first else {
      place = Place()
      return
    }
    // The path leads nowhere below a leaf, so that the leaf stays.
    if let whole = place.entry, !whole.node.isLeaf {
      place.entry = nil
      place.bytes -= whole.bytes
      var parts = whole.node.children.map { ($0.key, $0.node) }
      if let priority = whole.node.priority { parts.append((.priority, Node(priority.leaf))) }
      // What a later request writes at the same place goes over the part.
      for (key, node) in parts where place.below[key]?.entry == nil {
        var part = whole
        part.isMerge = true
        part.node = node
        part.bytes = cost(node, depth - keys.count + 1)
        place.below[key, default: Place()].entry = part
        place.below[key]?.bytes += part.bytes
        place.bytes += part.bytes
      }
    }
    // Taken out while it changes, so that it is not copied.
    guard var child = place.below.removeValue(forKey: key) else { return }
    place.bytes -= child.bytes
    forget(keys.dropFirst(), depth, &child)
    if child.isVoid { return }
    place.bytes += child.bytes
    place.below[key] = child
  }

  /// - Parameter take: returns whether to go on.
  @discardableResult
  private static func visit(
    _ place: Place, _ path: Path, _ take: (Path, Entry) -> Bool
  ) -> Bool {
    if let entry = place.entry, !take(path, entry) { return false }
    for (key, child) in place.below.sorted(by: { $0.key < $1.key }) where !key.isPriority {
      if !visit(child, path.appending(key), take) { return false }
    }
    // Last, as only a node that is there has a priority.
    guard let priority = place.below[.priority] else { return true }
    return visit(priority, path.appending(.priority), take)
  }
}
