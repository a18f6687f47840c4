import ConiferKeyValue
import ConiferQuery
import ConiferTree

/// What a client knows of one database while it runs: the open views, the server's data in them, and
/// the pending writes over it.
///
/// Every change returns what its owner is to do, as values; the tree itself sends, stores and calls
/// nothing. It belongs to one executor. The cost of a write, an acknowledgement or a revert depends on
/// the data it touches, not on the number of pending writes.
package final class SyncTree {
  private let cache: (any ServerCache)?
  let overlay = Overlay()
  let root = SyncPoint(.root)
  var viewsByListener: [ListenerID: View] = [:]
  var viewsByTag: [Int: View] = [:]
  var lastTag = 0

  /// A tree without views and writes.
  ///
  /// - Parameter cache: where views find data of earlier listens, if anywhere.
  package init(cache: (any ServerCache)?) { self.cache = cache }

  /// The points on the way from the root to a path, as far as they exist.
  func points(along path: Path) -> [SyncPoint] {
    var points = [root]
    for key in path.keys {
      guard let next = points[points.count - 1].children[key] else { break }
      points.append(next)
    }
    return points
  }

  /// The point at a path, if there is one.
  func point(at path: Path) -> SyncPoint? {
    points(along: path).last.flatMap { $0.path.count == path.count ? $0 : nil }
  }

  /// The view of exactly a target; for the default target any view that loads all data.
  func view(of target: QueryTarget) -> View? {
    guard let point = point(at: target.path) else { return nil }
    return point.views.first { $0.target.spec == target.spec }
      ?? (target.spec.loadsAllData ? point.wholeView : nil)
  }

  /// The whole server data at a path, if a view at or above knows it.
  func serverData(at path: Path) -> Node? {
    for point in points(along: path) {
      guard let rest = path.relative(to: point.path) else { continue }
      // Views that load all data know more, so they are asked first.
      for view in point.views where view.loadsAllData {
        if let node = view.serverData(at: rest) { return node }
      }
      for view in point.views where !view.loadsAllData {
        if let node = view.serverData(at: rest) { return node }
      }
    }
    return nil
  }

  /// The server data for a new view: from views at and above, else from the cache, else from views below.
  func knownServerData(_ target: QueryTarget) throws(StoreError) -> CachedNode {
    if let node = serverData(at: target.path) {
      return CachedNode(node, isComplete: true, isFiltered: false)
    }
    var known = try cache?.cached(target.normalized) ?? .unknown
    if known.isComplete { return known }
    known.isFiltered = !target.spec.loadsAllData
    for (key, child) in point(at: target.path)?.children ?? [:] {
      guard let view = child.wholeView, view.server.isComplete else { continue }
      known.node = known.node.setting(key, to: view.server.node)
    }
    return known
  }

  /// Brings a view up to date, and adds its events to the result.
  func refresh(_ view: View, _ paths: [Path], into result: inout SyncResult) {
    guard !paths.isEmpty else { return }
    for event in view.refresh(paths, overlay) {
      for listener in view.listeners { listener.tell(event, into: &result) }
    }
  }
}

extension View.Listener {
  /// Adds an event to the result if the listener wants it.
  func tell(_ event: DataEvent, into result: inout SyncResult) {
    guard !isSilent, kinds.contains(DataEvent.Kinds(event.kind)) else { return }
    result.events.append(SyncResult.Raised(id, event))
  }
}
