import ConiferKeyValue
import ConiferLeafStore

/// Whether a tree has overlays by path, as stores from before the first release have them. They stay
/// where they are until the next write to their document, or its answer.
///
/// One row is looked for, and what was found is remembered: nobody writes such rows any more.
final class EarlierOverlays: Sendable {
  private let areThere: Bool

  private init(areThere: Bool) { self.areThere = areThere }

  static func areThere(_ view: any OrderedView, _ tree: TreeID) throws(StoreError) -> Bool {
    guard let snapshot = (view as? LeafTransaction)?.base ?? view as? LeafSnapshot else {
      return try look(view, tree)
    }
    let known = try snapshot.object(Spaces.earlierOverlays, tree, StoreKey.prefix(tree)) {
      () throws(StoreError) in
      EarlierOverlays(areThere: try look(snapshot, tree))
    }
    return (known as? EarlierOverlays)?.areThere ?? true
  }

  private static func look(_ view: any OrderedView, _ tree: TreeID) throws(StoreError) -> Bool {
    try !view.keys(Spaces.earlierOverlays, prefix: StoreKey.prefix(tree), limit: 1).isEmpty
  }
}
