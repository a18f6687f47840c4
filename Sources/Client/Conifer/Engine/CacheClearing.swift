import ConiferEngine
import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree

/// Forgets what the cache holds at a place that nothing uses.
struct CacheClearing {
  let storage: EngineStorage
  let views: Views
  let listens: ServerListens
  let cache: CacheUpdater
  let outbox: Outbox

  /// How often it is tried: a query may be evicted between being found and being changed.
  private static let attempts = 8

  /// Forgets what is cached at and below a path, and that queries above are complete which held some of it; in one commit.
  ///
  /// - Returns: the commit.
  /// - Throws: `inUse` while something has any of it, and what the storage does.
  func clear(_ path: Path) throws(DatabaseError) -> CommitID {
    if let target = listens.user(of: path) {
      throw DatabaseError(
        .inUse, "\(path) is not forgotten: \(target) is listened to, or a transaction runs there.")
    }
    let pins = try storage.reading { (view, lane) throws(StoreError) in try view.pins(lane.tree) }
    if let pin = pins.first(where: { $0.path.touches(path) }) {
      throw DatabaseError(.inUse, "\(path) is not forgotten: \(pin.path) is kept synced.")
    }
    let commit = try forget(path)
    views.times.forget(around: path)
    cache.stopAwaiting(path)
    return commit
  }

  private func forget(_ path: Path) throws(DatabaseError) -> CommitID {
    let listened = listens.completeness.listened
    var attempt = 1
    while true {
      let edits = try storage.reading { (view, lane) throws(StoreError) in
        try forgetting(path, listened, view, lane.tree)
      }
      views.willStore(edits)
      do throws(StoreError) {
        return try outbox.commitNow(edits).commit
      } catch {
        guard error.code == .invalid, attempt < Self.attempts else {
          throw DatabaseError(error, "\(path) is not forgotten")
        }
        attempt += 1
      }
    }
  }

  private func forgetting(
    _ path: Path, _ listened: Set<QueryID>, _ view: any StorageView, _ tree: TreeID
  ) throws(StoreError) -> [StorageEdit] {
    var edits = [StorageEdit.prune(tree, PruneForest([path: .prune]))]
    for stored in try view.trackedQueries(tree, at: path) + view.trackedQueries(tree, below: path) {
      edits.append(.removeQuery(tree, stored.id))
    }
    for prefix in path.prefixes.dropLast() {
      let child = path.keys[prefix.count]
      for stored in try view.trackedQueries(tree, at: prefix) where !listened.contains(stored.id) {
        if !stored.query.isDefault {
          // One that does not hold the child has lost nothing.
          guard try view.trackedKeys(tree, stored.id).contains(child) else { continue }
          edits.append(.updateTrackedKeys(tree, stored.id, added: [], removed: [child]))
        }
        var query = stored.query
        (query.isComplete, query.isKnownMissing) = (false, false)
        if query != stored.query { edits.append(.saveQuery(query)) }
      }
    }
    return edits
  }
}

// MARK: - What the app asks for

extension Engine {
  /// Forgets what the cache holds at and below a path.
  func clear(_ path: Path) async throws(DatabaseError) -> CommitID {
    let cleared = Promise<CommitID>()
    steps.post(
      .run { loop in
        cleared.resolve(Result { () throws(DatabaseError) in try loop.clearing.clear(path) })
      })
    return try await cleared.value()
  }
}
