import ConiferQuery
import ConiferTree
import ConiferWire

extension Namespace {
  /// Tells all affected listens what a write changed; `root` is already the new data.
  mutating func publish(_ staged: StagedWrite, since old: Node) {
    let changes = staged.changes.filter { !root[$0.path].isIdentical(to: old[$0.path]) }
    var touched: Set<ListenID> = []
    for change in changes {
      let isPriority = change.path.last?.isPriority == true
      places.collect(
        at: isPriority ? change.path.parent ?? .root : change.path, below: !isPriority,
        into: &touched)
    }
    // In the order of sessions; a path comes before the paths below it.
    let order = touched.compactMap { id in listens[id].map { (id, $0) } }.sorted { a, b in
      (a.1.session, a.1.path, a.0) < (b.1.session, b.1.path, b.0)
    }
    // The path of the last push to a session's unfiltered listen: listens below it are covered by
    // that push.
    var told: (session: SessionID, path: Path)?
    for (id, listen) in order {
      if listen.window != nil {
        publish(changes, staged.write.isMerge, to: id, listen)
        continue
      }
      if listen.key.tag == nil {
        if let told, told.session == listen.session, told.path.contains(listen.path) { continue }
        told = (listen.session, listen.path)
      }
      if let push = push(changes, staged.write, to: listen, since: old) {
        send(listen.session, .push(push))
      }
    }
  }

  /// The push for a listen to all data: only the changed paths.
  private func push(
    _ changes: [NodeChange], _ write: PendingWrite, to listen: Listen, since old: Node
  ) -> Push? {
    let path = listen.path
    if changes.contains(where: { $0.path.contains(path) }) {
      let node = root[path]
      if node.isIdentical(to: old[path]) { return nil }
      return .overwrite(path, node, tag: listen.key.tag)
    }
    let base = path.contains(write.base) ? write.base : path
    var relative: [NodeChange] = []
    for change in changes where path.contains(change.path) {
      guard let place = change.path.relative(to: base) else { continue }
      relative.append(NodeChange(place, change.node))
    }
    guard let first = relative.first else { return nil }
    if relative.count == 1, !write.isMerge {
      return .overwrite(base.appending(first.path), first.node, tag: listen.key.tag)
    }
    return .merge(base, relative, tag: listen.key.tag)
  }

  /// Tells a filtered listen how its result changed.
  private mutating func publish(
    _ changes: [NodeChange], _ isMerge: Bool, to id: ListenID, _ listen: Listen
  ) {
    guard var window = listen.window else { return }
    let (path, before) = (listen.path, window.result)
    var deep: [Key: [NodeChange]] = [:]
    var keys: [Key] = []
    if changes.contains(where: { $0.path.contains(path) }) {
      window.replaceAll(with: root[path])
      listens[id]?.window = window
      if window.result != before {
        send(listen.session, .push(.overwrite(path, window.result, tag: listen.key.tag)))
      }
      return
    }
    for change in changes {
      // A filtered query does not depend on the node's own priority.
      guard let place = change.path.relative(to: path), let key = place.first, !key.isPriority
      else { continue }
      if deep[key] == nil { keys.append(key) }
      deep[key, default: []].append(NodeChange(place, change.node))
    }
    window.update(keys, of: root[path])
    listens[id]?.window = window
    var told: [NodeChange] = []
    for (key, old, new) in window.result.changes(since: before) {
      if !old.isEmpty, !new.isEmpty, let within = deep[key] {
        told.append(contentsOf: within)
      } else {
        told.append(NodeChange(Path([key]), new))
      }
    }
    guard let first = told.first else { return }
    let push: Push =
      told.count == 1 && !isMerge
      ? .overwrite(path.appending(first.path), first.node, tag: listen.key.tag)
      : .merge(path, told, tag: listen.key.tag)
    send(listen.session, .push(push))
  }
}
