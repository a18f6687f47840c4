import ConiferKeyValue
import ConiferStorage
import ConiferTree

extension StorageView {
  /// Walks the keys of a node's children in windows, without their subtrees.
  ///
  /// - Parameter body: returns whether to continue.
  func forEachKey(_ tree: TreeID, _ path: Path, _ body: (Key) throws -> Bool) throws {
    let window = 1000
    var last: Key?
    while true {
      let keys = try childKeys(tree, path, after: last, limit: window)
      for key in keys where try !body(key) { return }
      guard keys.count == window, let end = keys.last else { return }
      last = end
    }
  }

  /// Whether writing at a path would replace something: what is there or below, or a leaf above it.
  func hasData(_ tree: TreeID, at path: Path) throws -> Bool {
    if try !childKeys(tree, path, after: nil, limit: 1).isEmpty { return true }
    // A node without children is a leaf or nothing, and cheap to read.
    for count in 0...path.count {
      let place = Path(Array(path.keys.prefix(count)))
      let hasChildren = try !childKeys(tree, place, after: nil, limit: 1).isEmpty
      if try !hasChildren && !node(tree, place).isEmpty { return true }
    }
    return false
  }

  /// Walks the waiting or the rejected writes of a lane in windows.
  func forEachWrite(
    _ lane: Lane, rejected: Bool, _ body: (QueueEntry) throws -> Void
  ) throws {
    let window = 256
    var last: WriteID?
    while true {
      let writes =
        rejected
        ? try rejectedEntries(lane, after: last, limit: window)
        : try entries(lane, after: last, limit: window)
      for write in writes { try body(write) }
      guard writes.count == window, let end = writes.last?.id else { return }
      last = end
    }
  }

  /// Walks a tree's tracked queries in windows.
  func forEachQuery(_ tree: TreeID, _ body: (StoredQuery) throws -> Void) throws {
    let window = 1000
    var last: QueryID?
    while true {
      let queries = try trackedQueries(tree, after: last, limit: window)
      for query in queries { try body(query) }
      guard queries.count == window, let end = queries.last?.id else { return }
      last = end
    }
  }
}
