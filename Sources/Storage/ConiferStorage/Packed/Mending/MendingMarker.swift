import ConiferKeyValue
import ConiferLeafStore

/// A record, in tree 0 of the system space, that says that a tree is still to be mended: its usage is an
/// estimate, and it may hold records that nothing refers to.
enum MendingMarker {
  private static func key(_ tree: TreeID) -> Bytes { SystemKey.mending(tree).bytes }

  static func add(_ tx: LeafTransaction, _ tree: TreeID) throws(StoreError) {
    tx.effects.damagedTrees.insert(tree)
    try tx.put(Spaces.system, key(tree), payload: [])
  }

  static func remove(_ tx: LeafTransaction, _ tree: TreeID) throws(StoreError) {
    try tx.delete(Spaces.system, key(tree))
  }

  /// Whether a tree is to be mended, also if the record itself is damaged.
  static func isThere(_ view: any OrderedView, _ tree: TreeID) throws(StoreError) -> Bool {
    try view.keys(Spaces.system, prefix: key(tree), limit: 1).first == key(tree)
  }

  /// The first tree that is to be mended, after one.
  static func first(
    _ view: any OrderedView, after tree: TreeID? = nil
  ) throws(StoreError) -> TreeID? {
    let marker = try view.keys(
      Spaces.system, prefix: SystemKey.mendingMarkers, after: tree.map(key), limit: 1
    ).first
    guard let marker, case .mending(let next) = SystemKey(marker) else { return nil }
    return next
  }
}
