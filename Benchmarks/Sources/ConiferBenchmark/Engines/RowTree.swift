import CPeers
import ConiferTree

/// A node as an app in C holds it: values with memory of their own.
final class RowTree: Sendable {
  // Unchecked: it is only read once it is made.
  private struct Handle: @unchecked Sendable { let pointer: OpaquePointer? }
  private let handle: Handle

  var pointer: OpaquePointer? { handle.pointer }

  init(_ node: Node) {
    let tree = peer_tree_make(0)
    node.forEachLeaf { keys, leaf, _ in
      let key = Array(keys.map(\.string).joined(separator: "\u{1}").utf8)
      let value = Node(leaf).json()
      _ = peer_tree_add(
        tree.map { UnsafeMutableRawPointer($0) }, key, key.count, value, value.count)
    }
    handle = Handle(pointer: tree)
  }

  deinit { if let tree = handle.pointer { peer_tree_free(tree) } }
}
