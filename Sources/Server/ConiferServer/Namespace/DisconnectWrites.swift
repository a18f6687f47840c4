import ConiferTree

/// The writes of a session's onDisconnect operations, in the order of the requests. Each request is
/// one write, without the parts that later requests replaced or cancelled.
struct DisconnectWrites: Sendable {
  /// The remaining part of one request.
  struct Unit: Sendable {
    /// The path that the client named.
    let base: Path
    /// In path order, priorities behind their nodes' children.
    var changes: [NodeChange]
    /// Whether the request was an update, or a part of it was replaced or cancelled.
    var isMerge: Bool
  }

  /// A node to write. Nodes below it can only be of later requests.
  private struct Entry: Sendable {
    let unit: UInt64
    /// How many keys of the path the client named.
    let depth: Int
    var isMerge: Bool
    var node: Node
    var bytes: Int
  }

  private struct Place: Sendable {
    var entry: Entry?
    var below: [Key: Place] = [:]
    /// The entries at the root and below.
    var bytes = 0

    var isEmpty: Bool { entry == nil && below.isEmpty }
  }

  private var top = Place()
  private var lastUnit: UInt64 = 0

  /// The approximate memory size.
  var bytes: Int { top.bytes }

  var isEmpty: Bool { top.isEmpty }

  /// The maximum growth in bytes by some changes.
  func growth(by changes: [NodeChange]) -> Int {
    changes.reduce(0) { sum, change in
      var place: Place? = top
      for key in change.path.keys { place = place?.below[key] }
      return sum + Self.cost(change.node, change.path.count) - (place?.bytes ?? 0)
    }
  }

  /// The growth in bytes if a path were removed, since that splits nodes above it.
  func growth(byForgetting path: Path) -> Int {
    var sum = 0
    var place: Place? = top
    /// The part of an entry above that no later entry replaced.
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

  /// Adds a write of some nodes; it replaces earlier writes at and below them.
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

  /// Removes the writes at a path and below it. A node to be written above the path is split into
  /// its children, without the child that leads to the path.
  mutating func forget(_ path: Path) { Self.forget(path.keys[...], path.count, &top) }

  /// The writes, one for each request, in their order.
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

  /// The first changes in path order.
  func changes(atMost count: Int) -> [NodeChange] {
    var changes: [NodeChange] = []
    Self.visit(top, .root) { path, entry in
      if changes.count < count { changes.append(NodeChange(path, entry.node)) }
      return changes.count < count
    }
    return changes
  }

  /// The estimate counts a key and a table entry for each place, and the size of the node.
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
    // A path below a leaf does not exist, so the leaf stays.
    if let whole = place.entry, !whole.node.isLeaf {
      place.entry = nil
      place.bytes -= whole.bytes
      var parts = whole.node.children.map { ($0.key, $0.node) }
      if let priority = whole.node.priority { parts.append((.priority, Node(priority.leaf))) }
      // A write of a later request at the same place replaces the part.
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
    if child.isEmpty { return }
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
    // Last, as only an existing node has a priority.
    guard let priority = place.below[.priority] else { return true }
    return visit(priority, path.appending(.priority), take)
  }
}
