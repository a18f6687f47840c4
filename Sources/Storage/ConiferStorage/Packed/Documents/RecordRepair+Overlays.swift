import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Repairs overlays that cannot be read, or whose writes are lost, by rebuilding them from the
/// queue.
extension RecordRepair {
  func isOverlayDamaged(
    _ space: Space, _ key: Bytes, _ stored: Bytes?, _ info: TreeInfo
  ) -> Bool {
    guard let stored else { return false }
    guard let lane = Self.lane(key, info) else { return true }
    do throws(StoreError) {
      let overlay = try OverlayRows.overlay(.init(space: space, key: key, value: stored))
      return OverlayRows(view: tx, lane: lane).key(space, overlay.path) != key
    } catch {
      return error.code != .newerFormat
    }
  }

  func rebuildOverlays(
    of space: Space, _ key: Bytes, _ info: TreeInfo
  ) throws(StoreError) {
    try tx.delete(space, key)
    guard let lane = Self.lane(key, info) else { return }
    guard let path = OverlayRows(view: tx, lane: lane).document(space, key) else {
      return try rebuildOverlays(lane, info)
    }
    try OverlayEditor(tx, info, lane).rebuild(path)
  }

  /// Rebuilds the overlays of a lane after one of its writes was lost.
  func rebuildOverlays(_ lane: Lane, _ info: TreeInfo) throws(StoreError) {
    guard info.order == .documents else { return }
    try OverlayEditor(tx, info, lane).rebuildAll()
  }

  /// Rebuilds the overlays of a tree after documents from the server were lost.
  func rebuildOverlays(_ info: TreeInfo) throws(StoreError) {
    guard info.order == .documents else { return }
    let waiting = try QueueReader.lanes(tx, info.id)
    var others: Set<Lane> = []
    for space in [Spaces.overlays, Spaces.earlierOverlays] {
      others.formUnion(try QueueReader.lanes(tx, info.id, in: space))
    }
    let left = others.subtracting(waiting).sorted { $0.identity < $1.identity }
    for lane in waiting + left { try rebuildOverlays(lane, info) }
  }

  /// Whether a row is not a valid row of a document that a query matches.
  func isMatchDamaged(
    _ key: Bytes, _ stored: Bytes, _ info: TreeInfo
  ) throws(StoreError) -> Bool {
    guard let payload = Record.open(Spaces.queryKeys, key, stored),
      let text = String(validating: payload, as: UTF8.self), let path = try? DocumentPath(text)
    else { return true }
    let queries = Queries(view: tx, tree: info.id, order: info.order)
    let id = QueryID(rawValue: StoreKey.numberAfterTree(key))
    guard let query = try queries.query(id) else { return false }
    return MatchRows(queries, id, query).find(path) != key
  }
}
