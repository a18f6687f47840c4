package import ConiferQuery
package import ConiferTree

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
    let node = ranges.reduce(view.window.node) { $1.applied(to: $0) }
    return overwrite(path, node, tag: tag)
  }

  /// Takes in that the data of a listen is complete: the view has what the server has. Ignored without a
  /// view of that listen.
  package func complete(_ target: QueryTarget) -> SyncResult {
    guard let view = view(of: target) else { return SyncResult() }
    if view.loadsAllData {
      // This is new to filtered views at the path and to all views below.
      return overwrite(target.path, view.window.node)
    }
    var result = SyncResult()
    view.confirm()
    publish(view, [.root], into: &result)
    return result
  }

  private func receive(_ changes: [NodeChange], isMerge: Bool, tag: Int?) -> SyncResult {
    var result = SyncResult()
    guard let tag else {
      root.visit(changes) { view, changes in
        let paths = view.receive(changes, isMerge: isMerge, isTagged: false)
        publish(view, paths, into: &result)
      }
      return result
    }
    guard let view = viewsByTag[tag], !isConfirmed(above: view.target.path) else { return result }
    let relative = changes.compactMap { change in
      change.path.relative(to: view.target.path).map { NodeChange($0, change.node) }
    }
    let paths = view.receive(relative, isMerge: isMerge, isTagged: true)
    publish(view, paths, into: &result)
    return result
  }

  /// Whether another view's listen has brought all data at a path, so that late data of a filtered listen
  /// there adds nothing.
  private func isConfirmed(above path: Path) -> Bool {
    points(along: path).contains { point in
      point.views.contains { $0.loadsAllData && $0.isConfirmed }
    }
  }

  private func publish(_ view: View, _ paths: [Path], into result: inout SyncResult) {
    if let window = view.takeWindow() { result.windows.append(window) }
    refresh(view, paths, into: &result)
  }
}
