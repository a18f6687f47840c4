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
}
