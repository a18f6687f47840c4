import ConiferQuery
import ConiferSync
import ConiferTree
import ConiferWire
import Logging

/// Takes in what the server says of its data: the views change first, in memory; then it is committed,
/// and then listeners are told.
struct ServerUpdates {
  let views: Views
  let listens: ServerListens
  let listening: Listening
  let pins: PinnedQueries
  let transactions: Transactions
  let outbox: Outbox
  let logger: Logger

  /// Takes in a change of data.
  func take(_ update: DataUpdate) {
    switch update {
    case .overwrite(let path, let node, let tag):
      store(
        path, [NodeChange(.root, node)], tag, views.tree.overwrite(path, node, tag: tag))
    case .merge(let path, let changes, let tag):
      store(path, changes, tag, views.tree.merge(path, changes, tag: tag))
    case .rangeMerge(let path, let ranges, let tag):
      guard let target = tag.map({ listens.target(ofTag: $0) }) ?? QueryTarget(path) else { return }
      let before = views.tree.sentData(of: target) ?? .empty
      let result = views.tree.mergeRanges(path, ranges, tag: tag)
      let after = views.tree.sentData(of: target) ?? .empty
      store(path, after.changes(from: before), tag, result, isComplete: true)
    }
  }

  /// Has a change of server data stored, and after that listeners told of the resulting events.
  ///
  /// - Parameters:
  ///   - path: where.
  ///   - changes: what changed; their paths are relative to it.
  ///   - tag: that of the filtered listen which it is for.
  ///   - result: what the views made of it.
  ///   - isComplete: whether the listen at the path has all its data now.
  private func store(
    _ path: Path, _ changes: [NodeChange], _ tag: Int?, _ result: SyncResult,
    isComplete: Bool = false
  ) {
    let target: QueryTarget?
    if let tag {
      target = listens.target(ofTag: tag)
    } else {
      target = path.prefixes.lazy.map { QueryTarget($0) }.first { self.listens.contains($0) }
    }
    if let target {
      listens.storeUpdate(
        changes, at: path, of: target, isFiltered: tag != nil, result.windowChanges,
        isComplete: isComplete)
    }
    raiseAfterCommit(result, changes.map { path.appending($0.path).owner })
  }

  /// The server answered a listen: it has sent all its data, or the client had it, or refuses it.
  func listenAnswered(_ listen: Listen, _ response: Response) {
    let target = listen.target
    for warning in response.warnings {
      logger.warning(
        "the server warns", metadata: ["target": "\(target)", "warning": "\(warning)"])
    }
    if let error = DatabaseError(response, "The server refused to listen at \(target)") {
      cancel(target, error)
    } else if listens.isActive(listen) {
      let result = views.tree.complete(target)
      listens.storeAnswer(target)
      raiseAfterCommit(result, [target.path])
    }
  }

  /// The server no longer allows a listen.
  func listenRevoked(_ listen: Listen) {
    let what = "The server ended the listener at \(listen.target)"
    cancel(listen.target, DatabaseError(.permissionDenied, reason: nil, what))
  }

  private func cancel(_ target: QueryTarget, _ error: DatabaseError) {
    pins.refused(listening.cancel(target, error), error)
  }

  /// Tells listeners and transactions of a change, behind the commits that wait.
  private func raiseAfterCommit(_ result: SyncResult, _ paths: [Path]) {
    guard !result.events.isEmpty || !transactions.isEmpty else { return }
    outbox.afterCommit { [self] in
      views.raise(result)
      transactions.dataChanged(paths)
    }
  }
}

extension Node {
  /// What to replace in an older version of the node to get this one; paths are relative.
  func changes(from old: Node) -> [NodeChange] {
    guard childCount > 0, old.childCount > 0 else {
      return isIdentical(to: old) ? [] : [NodeChange(.root, self)]
    }
    var found: [NodeChange] = []
    for change in changes(since: old) {
      for inner in change.new.changes(from: change.old) {
        found.append(NodeChange(Path([change.key]).appending(inner.path), inner.node))
      }
    }
    if priority != old.priority {
      found.append(NodeChange(Path([.priority]), priority.map { Node($0.leaf) } ?? .empty))
    }
    return found
  }
}
