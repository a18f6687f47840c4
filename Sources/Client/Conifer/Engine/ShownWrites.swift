import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree

/// The queued writes as they lie over the views, with their server values resolved.
///
/// Writes that touch no view stay in the queue alone, and are laid over one when it opens.
final class ShownWrites {
  /// The app's writes, until the store holds how they ended.
  var records = OutboundWrites()
  /// What increments behind the newest write count from; nil when the queue is to be read.
  private var values: QueuedValues?
  private let storage: EngineStorage
  private let views: Views
  private let clock: ServerClock

  init(_ storage: EngineStorage, _ views: Views, _ clock: ServerClock) {
    self.storage = storage
    self.views = views
    self.clock = clock
  }

  /// Takes in that edits are about to be stored.
  func willStore(_ edits: [StorageEdit]) {
    if let values, !edits.allSatisfy(values.holds) { self.values = nil }
  }

  /// Tries again to store how writes ended, where that failed before.
  ///
  /// - Returns: the writes whose ends are stored.
  func storeEnds() -> [OutboundWriteID] {
    var stored: [OutboundWriteID] = []
    for (id, edits) in records.unstoredEnds {
      willStore(edits)
      do throws(StoreError) {
        _ = try storage.commit(edits)
      } catch {
        // The store refuses it as invalid: the write has ended already, or is gone.
        guard error.code == .invalid else { continue }
      }
      records.stored(id)
      stored.append(id)
    }
    return stored
  }

  /// Whether a write of the queue has ended, so that views are to show it no longer.
  private func hasEnded(_ id: OverlayID, _ lane: Lane) -> Bool {
    records.outcome(of: OutboundWriteID(lane, id)) != nil
  }

  /// Lays a queued write over the views that it concerns; others find it in the queue when they open.
  func lay(_ write: QueuedWrite, _ lane: Lane) {
    let changes = write.content.changes
    let now = clock.serverTime
    let known = values?.pass(write, lane, now: now)
    if known == nil { values = nil }
    guard changes.contains(where: { views.paths.touches($0.path.owner) }) else { return }
    let entry = resolved(write, lane, known, now)
    views.raise(views.tree.write(entry.id, entry.changes))
    _ = records.show(OutboundWriteID(lane, write.id))
  }

  /// A write with its server values resolved: increments over what the views show there, else over
  /// what is stored, of which some may be known already.
  private func resolved(
    _ write: QueuedWrite, _ lane: Lane, _ known: [NodeChange?]?, _ now: Int64
  ) -> QueueOverlay.Entry {
    let changes = write.content.changes
    let tree = views.tree
    // Where no view is, the writes that were laid over others need not be all that wait.
    let isHidden = changes.map {
      !QueueRules.isIdempotent($0.node)
        && !(views.paths.covers($0.path.owner) && tree.value(at: $0.path.owner) != nil)
    }
    var stored = known ?? [NodeChange?](repeating: nil, count: changes.count)
    if zip(isHidden, stored).contains(where: { $0 && $1 == nil }) {
      let found = storage.read { (view, _) throws(StoreError) in
        var overlay = QueueOverlay(view, lane, now: now)
        return try overlay.resolve(write)
      }
      if let (entry, next) = found {
        stored = entry.changes
        if let next { values = values?.joined(next) ?? next }
      }
    }
    let resolved = changes.indices.map { index in
      if isHidden[index], let change = stored[index] { return change }
      let change = changes[index]
      return NodeChange(change.path, tree.resolve(change.node, at: change.path, now: now))
    }
    return QueueOverlay.Entry(id: OverlayID(write.id.rawValue), changes: resolved)
  }

  /// Lays what waits in the queue over a path, before a view opens there.
  ///
  /// - Returns: whether the queue was read, which may have been damaged.
  func load(touching path: Path) -> Bool {
    guard !views.paths.covers(path), let lane = storage.lane else { return false }
    let (now, known) = (clock.serverTime, records)
    let entries = storage.read { (view, lane) throws(StoreError) -> [QueueOverlay.Entry]? in
      let waiting = try view.pendingWrites(lane, touching: path)
      guard waiting.contains(where: { !known.isShown(OutboundWriteID(lane, $0)) }) else {
        return nil
      }
      var overlay = QueueOverlay(view, lane, now: now)
      return try overlay.entries(touching: path).filter { !hasEnded($0.id, lane) }
    }
    if let entries, entries == nil { return false }
    for entry in (entries ?? []) ?? [] where records.show(OutboundWriteID(lane, entry.id)) {
      views.tree.load(entry.id, entry.changes)
    }
    return true
  }

  /// What waits in the queue and touches a path, but for writes that have ended.
  ///
  /// - Parameters:
  ///   - answer: what the server has just told of a target, which may not be stored yet.
  ///   - isOver: which writes do not wait any longer, though the store shows them.
  func waiting(
    touching path: Path, over answer: (target: QueryTarget, node: Node)? = nil,
    isOver: @escaping (OutboundWriteID) -> Bool = { _ in false }
  ) -> [QueueOverlay.Entry] {
    let (now, known) = (clock.serverTime, records)
    let entries = storage.read { (view, lane) throws(StoreError) in
      var overlay = QueueOverlay(view, lane, now: now, over: answer) { id in
        let id = OutboundWriteID(lane, id)
        return isOver(id) || answer != nil && known.outcome(of: id) != nil
      }
      return try overlay.entries(touching: path).filter { answer != nil || !hasEnded($0.id, lane) }
    }
    return entries ?? []
  }

  /// Shows another lane's writes over the views.
  ///
  /// - Returns: the newest number of the lane; nil for none, or when it cannot be read.
  func show(_ lane: Lane, of backend: any StorageBackend) -> WriteID? {
    let reverted = views.tree.revertAll()
    records.hideAll()
    values = nil
    storage.open(backend, lane)
    views.raise(reverted)
    let (now, paths) = (clock.serverTime, Set(views.paths.paths))
    let found = storage.read { (view, lane) throws(StoreError) in
      var overlay = QueueOverlay(view, lane, now: now)
      let entries = try overlay.entries(touching: Array(paths)).filter { !hasEnded($0.id, lane) }
      return (entries, try view.totals(lane).newest)
    }
    for entry in found?.0 ?? [] {
      _ = records.show(OutboundWriteID(lane, entry.id))
      views.raise(views.tree.write(entry.id, entry.changes))
    }
    return found?.1
  }

  /// Takes a write that the server has done from over the views: its data is the server's now.
  ///
  /// - Parameter isEarly: whether the connection broke before news could come.
  /// - Returns: what listeners are told.
  func acknowledge(_ id: OutboundWriteID, isEarly: Bool) -> SyncResult {
    guard records.hide(id) else { return SyncResult() }
    return views.tree.acknowledge(OverlayID(id.id.rawValue), isEarly: isEarly)
  }

  /// Takes a write back from the views.
  ///
  /// - Returns: what listeners are told.
  func revert(_ id: OutboundWriteID) -> SyncResult {
    guard records.hide(id) else { return SyncResult() }
    return views.tree.revert(OverlayID(id.id.rawValue))
  }

  /// Forgets what increments count from, as the storage is closed.
  func forgetValues() { values = nil }
}

extension OutboundWriteID {
  /// The queued write that lies over views at a place.
  init(_ lane: Lane, _ overlay: OverlayID) {
    self.init(lane, WriteID(rawValue: overlay.number))
  }
}
