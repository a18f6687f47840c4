import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// What is done about overlays that cannot be read, or whose writes are gone: they are made anew of the queue.
extension RecordRepair {
  func isOverlayDamaged(_ key: Bytes, _ stored: Bytes?, _ info: TreeInfo) -> Bool {
    guard let stored else { return false }
    guard let lane = Self.lane(key, info), let overlay = try? OverlayRows.overlay(key, stored)
    else { return true }
    return OverlayRows(view: tx, lane: lane).key(overlay.path) != key
  }

  func renewOverlays(of key: Bytes, _ info: TreeInfo) throws(StoreError) {
    try tx.delete(Spaces.overlays, key)
    if let lane = Self.lane(key, info) { try renewOverlays(lane, info) }
  }

  /// Makes the overlays of a lane anew, after a write of it was lost.
  func renewOverlays(_ lane: Lane, _ info: TreeInfo) throws(StoreError) {
    guard info.order == .documents else { return }
    try OverlayEditor(tx, info, lane).renewAll()
  }
}
