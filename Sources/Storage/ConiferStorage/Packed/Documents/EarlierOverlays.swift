import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// The overlays of stores from before the first release, which had them by path. They are made anew
/// from the queue, by the ids of collections.
enum EarlierOverlays {
  /// The lanes with such overlays: without any, one row is looked for.
  static func lanes(_ view: any OrderedView) throws(StoreError) -> [Lane] {
    guard try !view.keys(Spaces.earlierOverlays, prefix: [], limit: 1).isEmpty else { return [] }
    var lanes: [Lane] = []
    for key in try view.keys(Spaces.system, prefix: SystemKey.trees) {
      guard case .tree(let tree) = SystemKey(key) else { continue }
      lanes += try QueueReader.lanes(view, tree, in: Spaces.earlierOverlays)
    }
    return lanes
  }

  /// Replaces the overlays of a lane. Those of a lane whose key is not given stay until it is.
  static func replace(_ lane: Lane, _ tx: LeafTransaction) throws(StoreError) {
    guard let info = try Trees.info(tx, lane.tree), info.order == .documents else { return }
    let reader = try QueueReader(tx, lane, info.order, tx.leaves.codec)
    guard try reader.isReadable() else { return }
    try tx.deleteAll(Spaces.earlierOverlays, prefix: QueueReader.prefix(lane))
    try OverlayEditor(tx, info, lane).rebuildAll()
  }
}
