import ConiferTree

/// Transactions by path.
struct TransactionTree: Sendable {
  private var ids: Set<TransactionID> = []
  private var children: [Key: TransactionTree] = [:]

  private var isEmpty: Bool { ids.isEmpty && children.isEmpty }

  mutating func insert(_ id: TransactionID, at path: Path) {
    guard let key = path.first else {
      ids.insert(id)
      return
    }
    children[key, default: TransactionTree()].insert(id, at: path.dropFirst())
  }

  mutating func remove(_ id: TransactionID, at path: Path) {
    guard let key = path.first else {
      ids.remove(id)
      return
    }
    children[key]?.remove(id, at: path.dropFirst())
    if children[key]?.isEmpty == true { children[key] = nil }
  }

  /// The path nearest the root, at or above a path, that has transactions; the path itself if no
  /// path above has any.
  func root(of path: Path) -> Path {
    var tree = self
    for (depth, key) in path.keys.enumerated() {
      if !tree.ids.isEmpty { return Path(Array(path.keys[..<depth])) }
      guard let next = tree.children[key] else { return path }
      tree = next
    }
    return path
  }

  /// The transactions above a path.
  func above(_ path: Path) -> [TransactionID] {
    var found: [TransactionID] = []
    var tree = self
    for key in path.keys {
      found += tree.ids
      guard let next = tree.children[key] else { return found }
      tree = next
    }
    return found
  }

  /// The transactions at and below a path.
  func within(_ path: Path) -> [TransactionID] {
    guard let tree = subtree(path) else { return [] }
    var found: [TransactionID] = []
    var waiting = [tree]
    while let tree = waiting.popLast() {
      found += tree.ids
      waiting += tree.children.values
    }
    return found
  }

  /// The paths at and below a path that have transactions and none above them.
  func roots(below path: Path) -> [Path] {
    guard let tree = subtree(path) else { return [] }
    var found: [Path] = []
    var waiting = [(path, tree)]
    while let (path, tree) = waiting.popLast() {
      if tree.ids.isEmpty {
        waiting += tree.children.map { (path.appending($0.key), $0.value) }
      } else {
        found.append(path)
      }
    }
    return found
  }

  private func subtree(_ path: Path) -> TransactionTree? {
    var tree = self
    for key in path.keys {
      guard let next = tree.children[key] else { return nil }
      tree = next
    }
    return tree
  }
}
