import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

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
      flattener.entries.reserve(
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
