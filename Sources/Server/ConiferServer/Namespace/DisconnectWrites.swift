import ConiferTree

/// What is to be written when a session ends: nodes by their paths, none above another. Later
/// operations go over earlier ones, as the Realtime Database's clients mirror it.
struct DisconnectWrites: Sendable {
  /// A place: a node to write there, or places below.
  private struct Place: Sendable {
    var node: Node?
    var below: [Key: Place] = [:]

    var isVoid: Bool { node == nil && below.isEmpty }
  }

  private var top = Place()

  /// Remembers to replace a node.
  mutating func remember(_ change: NodeChange) {
    Self.remember(change.node, change.path.keys[...], &top)
  }

  /// Forgets what was to happen at a path and below it. A node that was to be written above it is
  /// written child by child, but for the one towards the path.
  mutating func forget(_ path: Path) { _ = Self.forget(path.keys[...], &top) }

  /// What is to be written, in path order.
  var changes: [NodeChange] {
    var changes: [NodeChange] = []
    Self.collect(top, .root, &changes)
    return changes
  }

  var isEmpty: Bool { top.isVoid }

  private static func remember(_ node: Node, _ keys: ArraySlice<Key>, _ place: inout Place) {
    guard let key = keys.first else {
      place = Place(node: node)
      return
    }
    if let whole = place.node {
      place.node = whole.setting(Path(Array(keys)), to: node)
    } else {
      remember(node, keys.dropFirst(), &place.below[key, default: Place()])
    }
  }

  /// Returns whether nothing is left at the place.
  private static func forget(_ keys: ArraySlice<Key>, _ place: inout Place) -> Bool {
    guard let key = keys.first else {
      place = Place()
      return true
    }
    if let whole = place.node {
      // The path leads nowhere below a leaf, so that the leaf stays.
      if whole.isLeaf { return false }
      place = Place()
      for child in whole.children { place.below[child.key] = Place(node: child.node) }
    }
    guard var child = place.below[key] else { return place.isVoid }
    place.below[key] = nil
    if !forget(keys.dropFirst(), &child) { place.below[key] = child }
    return place.isVoid
  }

  private static func collect(_ place: Place, _ path: Path, _ changes: inout [NodeChange]) {
    if let node = place.node { return changes.append(NodeChange(path, node)) }
    for (key, child) in place.below.sorted(by: { $0.key < $1.key }) {
      collect(child, path.appending(key), &changes)
    }
  }
}
