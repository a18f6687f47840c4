import ConiferKeyValue
package import ConiferQuery
package import ConiferTree

/// What a client knows of one database while it runs: the open views, the server's data in them, and
/// the pending writes over it.
///
/// Every change returns what its owner is to do, as values; the tree itself sends, stores and calls
/// nothing. It belongs to one executor. The cost of a write, an acknowledgement or a revert depends on
/// the data it touches, not on the number of pending writes.
///
/// It alone knows who listens to what, silent listeners included, and so where views are open.
package final class SyncTree {
  let cache: (any ServerCache)?
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

  /// Brings a view up to date, and adds its events to the result.
  func refresh(_ view: View, _ paths: [Path], into result: inout SyncResult) {
    guard !paths.isEmpty else { return }
    for event in view.refresh(paths, overlay) {
      for listener in view.listeners { listener.tell(event, into: &result) }
    }
  }
}

// MARK: The server's data

extension SyncTree {
  /// Takes in a node from the server.
  ///
  /// - Parameters:
  ///   - path: where; absolute.
  ///   - node: the node.
  ///   - tag: the only filtered listen that it belongs to; an unknown one is ignored.
  package func overwrite(_ path: Path, _ node: Node, tag: Int? = nil) -> SyncResult {
    receive([NodeChange(path, node)], isMerge: false, tag: tag)
  }

  /// Takes in several nodes from the server.
  ///
  /// - Parameters:
  ///   - path: what the changes are relative to; absolute.
  ///   - changes: the nodes.
  ///   - tag: as in `overwrite`.
  package func merge(_ path: Path, _ changes: [NodeChange], tag: Int? = nil) -> SyncResult {
    let absolute = changes.map { NodeChange(path.appending($0.path), $0.node) }
    return receive(absolute, isMerge: true, tag: tag)
  }

  /// Takes in ranges of a node, in answer to a listen with a compound hash; ignored without a view of
  /// that listen.
  ///
  /// - Parameters:
  ///   - path: the listen's path.
  ///   - ranges: the ranges, which replace what the view's server data has there, in order.
  ///   - tag: as in `overwrite`.
  package func mergeRanges(_ path: Path, _ ranges: [RangeMerge], tag: Int? = nil) -> SyncResult {
    let view = tag.map { viewsByTag[$0] } ?? view(of: QueryTarget(path))
    guard let view, view.target.path == path else { return SyncResult() }
    let node = ranges.reduce(view.server.sent) { $1.applied(to: $0) }
    return overwrite(path, node, tag: tag)
  }

  /// The data of a listen is complete: the view has what the server has. Ignored without a
  /// view of that listen.
  package func complete(_ target: QueryTarget) -> SyncResult {
    guard let view = view(of: target) else { return SyncResult() }
    if view.loadsAllData {
      // This is new to filtered views at the path and to all views below.
      return overwrite(target.path, view.server.sent)
    }
    var result = SyncResult()
    view.server.confirm()
    publish(view, [.root], into: &result)
    return result
  }

  private func receive(_ changes: [NodeChange], isMerge: Bool, tag: Int?) -> SyncResult {
    var result = SyncResult()
    guard let tag else {
      root.visit(changes) { view, changes in
        let paths = view.server.receive(changes, isMerge: isMerge, isTagged: false)
        publish(view, paths, into: &result)
      }
      return result
    }
    guard let view = viewsByTag[tag], !isConfirmed(covering: view.target.path) else {
      return result
    }
    let relative = changes.compactMap { change in
      change.path.relative(to: view.target.path).map { NodeChange($0, change.node) }
    }
    let paths = view.server.receive(relative, isMerge: isMerge, isTagged: true)
    publish(view, paths, into: &result)
    return result
  }

  /// Whether the listen of a view at a path or above has brought all data there, so that late data of a filtered
  /// listen adds nothing.
  private func isConfirmed(covering path: Path) -> Bool {
    points(along: path).contains { point in
      point.views.contains { $0.loadsAllData && $0.server.isConfirmed }
    }
  }

  private func publish(_ view: View, _ paths: [Path], into result: inout SyncResult) {
    if let window = view.takeWindowChange() { result.windowChanges.append(window) }
    refresh(view, paths, into: &result)
  }
}

// MARK: Pending writes

extension SyncTree {
  /// Lays a write over the views.
  ///
  /// - Parameters:
  ///   - id: its position among all; a known one is ignored.
  ///   - changes: the new nodes by absolute paths, without server values; none contains another.
  ///   - isVisible: whether views show it; otherwise only questions that ask for it do.
  package func write(
    _ id: OverlayID, _ changes: [NodeChange], isVisible: Bool = true
  ) -> SyncResult {
    var result = SyncResult()
    guard overlay.add(id, changes, isVisible: isVisible), isVisible else { return result }
    root.visit(changes) { view, changes in refresh(view, changes.map(\.path), into: &result) }
    return result
  }

  /// Lays an earlier queued write over views that open later; raises no events.
  ///
  /// - Parameters:
  ///   - id: its position among all; a known one is ignored.
  ///   - changes: as in `write`.
  package func load(_ id: OverlayID, _ changes: [NodeChange]) {
    _ = overlay.add(id, changes, isVisible: true)
  }

  /// Whether a write lies over the views.
  package func holds(_ id: OverlayID) -> Bool { overlay.contains(id) }

  /// Copies the visible writes at, above or below a path into another tree without views.
  ///
  /// - Parameters:
  ///   - path: where.
  ///   - other: the tree; writes that it has stay as they are.
  ///   - isWanted: which writes.
  package func copyWrites(
    touching path: Path, to other: SyncTree, where isWanted: (OverlayID) -> Bool = { _ in true }
  ) {
    func touches(_ change: NodeChange) -> Bool {
      change.path.contains(path) || path.contains(change.path)
    }
    for write in overlay.visible where isWanted(write.id) && write.changes.contains(where: touches)
    {
      _ = other.overlay.add(write.id, write.changes, isVisible: true)
    }
  }

  /// Removes a write that the server has applied; the server's data came before. An unknown one is
  /// ignored.
  ///
  /// - Parameters:
  ///   - id: its position among all.
  ///   - isDataMissing: whether the connection broke before the server's data came: then the write is taken
  ///     for the server's data, until the listens are answered on the next connection.
  package func acknowledge(_ id: OverlayID, isDataMissing: Bool = false) -> SyncResult {
    var result = SyncResult()
    guard let write = overlay.remove(id), write.isVisible else { return result }
    root.visit(write.changes) { view, changes in
      let dropped = view.server.adopt(changes, isDataMissing: isDataMissing)
      if !dropped.isEmpty { refresh(view, dropped, into: &result) }
    }
    reveal(write, into: &result)
    return result
  }

  /// Takes a write back; an unknown one is ignored.
  package func revert(_ id: OverlayID) -> SyncResult {
    var result = SyncResult()
    if let write = overlay.remove(id), write.isVisible { reveal(write, into: &result) }
    return result
  }

  /// Reverts all writes, hidden ones too.
  package func revertAll() -> SyncResult {
    var result = SyncResult()
    let changes = overlay.removeAll().filter(\.isVisible).flatMap(\.changes)
    root.visit(changes) { view, changes in refresh(view, changes.map(\.path), into: &result) }
    return result
  }

  /// Shows what a removed write covered, unless a newer one covers it too.
  private func reveal(_ write: Overlay.Write, into result: inout SyncResult) {
    let changes = write.changes.filter { !overlay.isCovered($0.path, since: write.id) }
    root.visit(changes) { view, changes in refresh(view, changes.map(\.path), into: &result) }
  }
}

// MARK: Views by path

/// The open views at one path, and the points below.
final class SyncPoint {
  let path: Path
  /// In the order in which they opened.
  var views: [View] = []
  var children: [Key: SyncPoint] = [:]

  init(_ path: Path) { self.path = path }

  var isEmpty: Bool { views.isEmpty && children.isEmpty }

  /// A view that loads all data.
  var wholeView: View? { views.first { $0.loadsAllData } }

  /// The views here and below that no other view covers: those that need listens when nothing above
  /// listens.
  var topmost: [View] {
    if let wholeView { return [wholeView] }
    return views + topmostBelow
  }

  /// The topmost views below.
  var topmostBelow: [View] { sorted(children.keys).flatMap(\.topmost) }

  /// The points of some children, in the order of their keys.
  private func sorted(_ keys: some Sequence<Key>) -> [SyncPoint] {
    keys.sorted().compactMap { children[$0] }
  }

  /// Visits the views that changes concern, deeper ones first.
  ///
  /// - Parameters:
  ///   - changes: changed nodes, by paths relative to this point.
  ///   - body: is given a view and the changes relative to it.
  func visit(_ changes: [NodeChange], _ body: (View, [NodeChange]) -> Void) {
    if changes.isEmpty { return }
    if !children.isEmpty {
      for (key, below) in parts(of: changes).sorted(by: { $0.key < $1.key }) {
        children[key]?.visit(below, body)
      }
    }
    for view in views { body(view, changes) }
  }

  /// The changes that concern each child.
  private func parts(of changes: [NodeChange]) -> [Key: [NodeChange]] {
    var parts: [Key: [NodeChange]] = [:]
    for change in changes {
      if let key = change.path.first {
        guard children[key] != nil else { continue }
        parts[key, default: []].append(NodeChange(change.path.dropFirst(), change.node))
      } else {
        for key in children.keys {
          parts[key, default: []].append(NodeChange(.root, change.node[key]))
        }
      }
    }
    return parts
  }
}
