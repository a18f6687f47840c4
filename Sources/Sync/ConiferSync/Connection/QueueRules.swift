package import ConiferStorage
package import ConiferTree

/// Rules of the outbound queue that need no state.
package enum QueueRules {
  /// Whether a write that is applied twice has the effect of one that is applied once. Before any other
  /// write leaves, the store must hold durably that it was sent.
  ///
  /// A set or a timestamp is idempotent; an increment is not, and a server value that this version does not know may
  /// not be.
  package static func isIdempotent(_ content: WriteContent) -> Bool {
    content.changes.allSatisfy { $0.node.isIdempotent }
  }

  /// Whether data has no increments.
  package static func isIdempotent(_ node: Node) -> Bool { node.isIdempotent }

  /// Whether a new write makes an earlier one of its lane unnecessary, if that was never sent and no write
  /// stands between them.
  ///
  /// It does when it replaces all that the earlier one wrote and does not depend on it.
  package static func supersedes(_ new: WriteContent, _ old: WriteContent) -> Bool {
    guard new.kind == .set, new.preconditions.isEmpty, isIdempotent(new) else { return false }
    guard old.kind != .transaction, old.preconditions.isEmpty, !old.changes.isEmpty else {
      return false
    }
    // Deleting below a leaf changes nothing, so an empty node does not replace a write that made the
    // leaf a map.
    guard new.changes.allSatisfy({ !$0.node.isEmpty }) else { return false }
    return old.changes.allSatisfy { old in new.changes.contains { $0.path.contains(old.path) } }
  }

  /// About how many bytes a write takes on the wire.
  static func size(of content: WriteContent) -> Int {
    var size = 64
    for change in content.changes {
      let keys = change.path.keys.reduce(0) { $0 + $1.utf8Count + 1 }
      size += keys + change.node.estimatedSize
    }
    return size
  }
}

extension Node {
  /// Whether no server value in it depends on the old value.
  fileprivate var isIdempotent: Bool {
    guard hasServerValues else { return true }
    if leaf?.isIdempotent == false || priority?.leaf.isIdempotent == false { return false }
    return children.allSatisfy { $0.node.isIdempotent }
  }
}

extension Leaf {
  /// Whether it is no server value that depends on the old value, or may.
  fileprivate var isIdempotent: Bool {
    switch self {
    case .serverValue(.timestamp): return true
    case .serverValue: return false
    case .string, .integer, .double, .bool: return true
    }
  }
}
