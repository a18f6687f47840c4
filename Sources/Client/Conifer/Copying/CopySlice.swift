import ConiferTree

/// The values of one write of a copy: as many as a write may have, each by its own path, so that nothing beside them
/// changes. The priority of a map goes with the first of its values: the server has both or neither.
struct CopySlice {
  /// About how many bytes a slice has, unless one value is larger.
  static let mostBytes = 128 << 10
  /// How many values a slice has.
  static let mostValues = 1_000

  /// The values and the priorities of maps, by their places.
  private var changes: [NodeChange] = []
  /// How many of the changes are values.
  private(set) var valueCount = 0
  private var bytes = 0
  /// The priorities of maps of which no value was added yet.
  private var pending: [NodeChange] = []

  var isEmpty: Bool { changes.isEmpty }

  /// Whether it has as many places as a slice should.
  var isFull: Bool { changes.count >= Self.mostValues }

  /// Whether all values of a node fit into it.
  func hasRoom(for node: Node, at path: Path) -> Bool {
    valueCount + node.leafCount <= Self.mostValues
      && bytes + Self.size(of: node, at: path) <= Self.mostBytes
  }

  /// About how many bytes a node's values take, each with its path.
  private static func size(of node: Node, at path: Path) -> Int {
    node.estimatedSize + node.leafCount * path.keys.reduce(0) { $0 + $1.utf8Count + 1 }
  }

  /// Adds the priority of a map.
  ///
  /// - Parameter isThere: whether the server has the map; otherwise values of it follow, in this slice or a later one.
  mutating func add(priorityOf node: Node, at path: Path, isThere: Bool) {
    guard let priority = node.priority, !node.isLeaf else { return }
    let change = NodeChange(path.appending(.priority), Node(priority.leaf))
    if isThere { changes.append(change) } else { pending.append(change) }
  }

  /// Adds all values and priorities of a node that is not empty.
  mutating func add(_ node: Node, at path: Path) {
    bytes += Self.size(of: node, at: path)
    addValues(node, path)
  }

  private mutating func addValues(_ node: Node, _ path: Path) {
    guard !node.isLeaf else {
      changes.append(NodeChange(path, node))
      valueCount += 1
      changes += pending
      pending = []
      return
    }
    add(priorityOf: node, at: path, isThere: false)
    for (key, child) in node.children { addValues(child, path.appending(key)) }
  }

  /// Takes its write, and leaves it empty; nil when it is.
  mutating func takeWrite() -> LocalWrite? {
    defer { (changes, valueCount, bytes) = ([], 0, 0) }
    guard let first = changes.first else { return nil }
    guard changes.count > 1 else { return .set(first.path, first.node) }
    // The deepest place that is above all of them.
    var common = first.path.keys.dropLast()
    for change in changes.dropFirst() {
      let shared = zip(common, change.path.keys.dropLast()).prefix { $0 == $1 }.count
      common = common.prefix(shared)
    }
    // A priority stands before the data that it belongs to, by its key, and is set after it.
    return .update(
      Path(Array(common)),
      changes.sorted { a, b in
        let (isLate, isOtherLate) = (
          a.path.last?.isPriority == true, b.path.last?.isPriority == true
        )
        return isLate == isOtherLate ? a.path < b.path : isOtherLate
      })
  }
}
