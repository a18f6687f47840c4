import ConiferKeyValue
import ConiferLeafStore

/// Whether a tree has overlays by path, as stores from before the first release have them. They stay
/// where they are until they change.
///
/// One row is looked for, and what was found is remembered until that row goes: nobody writes such rows
/// any more.
final class EarlierOverlays: Sendable {
  private let areThere: Bool

  private init(areThere: Bool) { self.areThere = areThere }

  static func areThere(_ view: any OrderedView, _ tree: TreeID) throws(StoreError) -> Bool {
    guard let snapshot = (view as? LeafTransaction)?.base ?? view as? LeafSnapshot else {
      return try first(view, tree) != nil
    }
    // The object goes with the row that it was made of.
    var row = StoreKey.prefix(tree)
    let known = try snapshot.object(Spaces.earlierOverlays, tree, row) { () throws(StoreError) in
      let first = try first(snapshot, tree)
      if let first { row = first }
      return EarlierOverlays(areThere: first != nil)
    }
    return (known as? EarlierOverlays)?.areThere ?? true
  }

  private static func first(_ view: any OrderedView, _ tree: TreeID) throws(StoreError) -> Bytes? {
    try view.keys(Spaces.earlierOverlays, prefix: StoreKey.prefix(tree), limit: 1).first
  }
}
