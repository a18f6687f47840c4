import ConiferKeyValue
import ConiferLeafStore

/// A record, in tree 0 of the system space, that says that a tree is still to be mended: its usage is an
/// estimate, and it may hold records that nothing refers to.
enum MendingMarker {
  private static let prefix = StoreKey.prefix(TreeID(rawValue: 0)) + [UInt8(ascii: "r")]

  private static func key(_ tree: TreeID) -> Bytes { prefix + StoreKey.prefix(tree) }

  static func isMarker(_ key: Bytes) -> Bool { key.count == 9 && key.starts(with: prefix) }

  static func add(_ tx: LeafTransaction, _ tree: TreeID) throws(StoreError) {
    tx.effects.mending.insert(tree)
    try tx.put(Spaces.system, key(tree), payload: [])
  }

  static func remove(_ tx: LeafTransaction, _ tree: TreeID) throws(StoreError) {
    try tx.delete(Spaces.system, key(tree))
  }

  static func isThere(_ view: any OrderedView, _ tree: TreeID) throws(StoreError) -> Bool {
    try view.get(Spaces.system, key(tree)) { _ in } != nil
  }

  /// The first tree that is to be mended, after one.
  static func first(
    _ view: any OrderedView, after tree: TreeID? = nil
  ) throws(StoreError) -> TreeID? {
    try view.keys(Spaces.system, prefix: prefix, after: tree.map(key), limit: 1).first
      .map { StoreKey.tree(Bytes($0.dropFirst(5))) }
  }
}
