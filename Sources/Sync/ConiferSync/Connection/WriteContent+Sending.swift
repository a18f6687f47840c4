package import ConiferStorage
package import ConiferTree
package import ConiferWire

// What the way to the server has to know of a write's content.
extension WriteContent {
  /// Whether applying it twice has the same effect as once. Before any other write leaves, the store must hold
  /// durably that it was sent.
  ///
  /// A set or a timestamp is idempotent; an increment is not, and a server value that this version does not know may
  /// not be.
  package var isIdempotent: Bool { changes.allSatisfy { $0.node.isIdempotent } }

  /// Whether it makes an earlier write of its lane unnecessary, if that was never sent and no write stands between
  /// them: it replaces all that the earlier one wrote, and does not depend on it.
  package func supersedes(_ old: WriteContent) -> Bool {
    guard kind == .set, preconditions.isEmpty, isIdempotent else { return false }
    guard old.kind != .transaction, old.preconditions.isEmpty, !old.changes.isEmpty else {
      return false
    }
    // Deleting below a leaf changes nothing, so an empty node does not replace a write that made the
    // leaf a map.
    guard changes.allSatisfy({ !$0.node.isEmpty }) else { return false }
    return old.changes.allSatisfy { old in changes.contains { $0.path.contains(old.path) } }
  }

  /// About how many bytes it takes on the wire.
  var wireSize: Int {
    var size = 64
    for change in changes {
      let keys = change.path.keys.reduce(0) { $0 + $1.utf8Count + 1 }
      size += keys + change.node.estimatedSize
    }
    return size
  }
}

extension Node {
  /// Whether no server value in it depends on the old value: it has no increments.
  package var isIdempotent: Bool {
    guard hasServerValues else { return true }
    if leaf?.isIdempotent == false || priority?.leaf.isIdempotent == false { return false }
    return children.allSatisfy { $0.node.isIdempotent }
  }
}

extension Leaf {
  /// Whether it is no server value that depends on the old value, or may.
  fileprivate var isIdempotent: Bool {
    switch self {
    case .serverValue(.timestamp): true
    case .serverValue: false
    case .string, .integer, .double, .bool: true
    }
  }
}

extension Request {
  /// The request that carries a write.
  ///
  /// A write that replaces one node is a put, with the hash that its precondition names; all others
  /// are one merge, so that the server applies all of it or nothing.
  package init(_ content: WriteContent) {
    if content.kind != .update, content.changes.count == 1, let change = content.changes.first {
      let hash = content.preconditions.first { $0.path == change.path }?.hash
      self = .put(change.path, change.node, hash: hash)
      return
    }
    var relative: [NodeChange] = []
    for change in content.changes {
      guard let path = change.path.relative(to: content.path) else {
        self = .merge(.root, content.changes)
        return
      }
      relative.append(NodeChange(path, change.node))
    }
    self = .merge(content.path, relative)
  }
}
