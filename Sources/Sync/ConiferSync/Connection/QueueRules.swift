public import ConiferStorage
public import ConiferTree
public import ConiferWire

/// Rules of the outbound queue that need no state.
public enum QueueRules {
  /// The request that carries a write.
  ///
  /// A write that replaces one node is a put, with the hash that its precondition names; all others
  /// are one merge, so that the server applies all of it or nothing.
  public static func request(for content: WriteContent) -> Request {
    if content.kind != .update, content.changes.count == 1, let change = content.changes.first {
      let hash = content.preconditions.first { $0.path == change.path }?.hash
      return .put(change.path, change.node, hash: hash)
    }
    var relative: [NodeChange] = []
    for change in content.changes {
      guard let path = change.path.relative(to: content.path) else {
        return .merge(.root, content.changes)
      }
      relative.append(NodeChange(path, change.node))
    }
    return .merge(content.path, relative)
  }

  /// Whether a write counts twice when it is applied twice: then that it was sent must be durable
  /// before it leaves.
  ///
  /// An increment does, and so may a server value that this version does not know; a set or a
  /// timestamp ends in the same place.
  public static func doubles(_ content: WriteContent) -> Bool {
    content.changes.contains { $0.node.doubles }
  }

  /// Whether data has increments.
  public static func doubles(_ node: Node) -> Bool { node.doubles }

  /// Whether a new write makes an earlier one of its lane needless, if that was never sent and no
  /// write stands between them.
  ///
  /// It does when it replaces all that the earlier one wrote and does not build on it.
  public static func supersedes(_ new: WriteContent, _ old: WriteContent) -> Bool {
    guard new.kind == .set, new.preconditions.isEmpty, !doubles(new) else { return false }
    guard old.kind != .transaction, old.preconditions.isEmpty, !old.changes.isEmpty else {
      return false
    }
    // Deleting below a leaf changes nothing, so an empty node does not replace what made that leaf
    // interior.
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
  /// Whether a server value anywhere in it builds on what was there.
  fileprivate var doubles: Bool {
    guard hasServerValues else { return false }
    if leaf?.doubles == true || priority?.leaf.doubles == true { return true }
    return children.contains { $0.node.doubles }
  }
}

extension Leaf {
  /// Whether it is a server value that builds on what was there, or may.
  fileprivate var doubles: Bool {
    switch self {
    case .serverValue(.timestamp): return false
    case .serverValue: return true
    case .string, .integer, .double, .bool: return false
    }
  }
}
