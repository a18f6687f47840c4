import ConiferKeyValue
import ConiferLeafStore

/// The notes, in tree 0 of the system space, that a tree's usage is an estimate and that records may be
/// left which nothing refers to: the tree is still to be mended.
enum MendingNote {
  private static let prefix = StoreKey.prefix(TreeID(rawValue: 0)) + [UInt8(ascii: "r")]

  private static func key(_ tree: TreeID) -> Bytes { prefix + StoreKey.prefix(tree) }

  static func isNote(_ key: Bytes) -> Bool { key.count == 9 && key.starts(with: prefix) }

  static func add(_ tx: LeafTransaction, _ tree: TreeID) throws(StoreError) {
    _ = tx.note { $0.mending.insert(tree) }
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
