import ConiferQuery
import ConiferTree

extension View {
  /// Takes in data from the server.
  ///
  /// - Parameters:
  ///   - changes: the new nodes, by paths relative to the view.
  ///   - isMerge: whether the rest of the node may be unknown.
  ///   - isTagged: whether they belong to this view's own filtered listen.
  /// - Returns: where the server's data changed.
  func receive(_ changes: [NodeChange], isMerge: Bool, isTagged: Bool) -> [Path] {
    var changes = changes[...]
    var paths: [Path] = []
    if let whole = changes.lastIndex(where: \.path.isRoot) {
      replace(changes[whole].node, isTagged: isTagged)
      changes = changes[(whole + 1)...]
      paths = [.root]
    } else if isMerge && server.node.isEmpty && !server.isComplete {
      // It belongs to a listen that has ended, and does not tell what else there is.
      return []
    }
    if changes.isEmpty { return paths }
    if !loadsAllData && isTagged && !server.isFiltered {
      server = window(of: server)
      paths.append(.root)
    }
    let isWhole = server.isComplete && !server.isFiltered
    for change in changes {
      guard let key = change.path.first else { continue }
      if key.isPriority && server.isFiltered { continue }
      // Part of an unknown child does not make the child known.
      if change.path.count > 1 && !isWhole && server.node[key].isEmpty { continue }
      server.node = server.node.setting(change.path, to: change.node)
      if change.path.count == 1 { adopted.remove(key) }
      paths.append(change.path)
    }
    if server.isFiltered { paths += trim(paths) }
    return paths
  }

  /// Takes in the server's answer that the view's data is up to date.
  func confirm() {
    server = window
    server.isComplete = true
    isConfirmed = true
    forgetAdopted()
  }

  private func replace(_ node: Node, isTagged: Bool) {
    let isFiltered = isTagged && !loadsAllData
    server = CachedNode(
      isFiltered ? target.spec.filtered(node) : node, isComplete: true, isFiltered: isFiltered)
    isConfirmed = true
    forgetAdopted()
  }

  private func forgetAdopted() {
    adoptsAll = false
    adopted = []
    known = .empty
  }

  /// Removes children outside of the query's range and limit.
  ///
  /// - Returns: the children that were removed.
  private func trim(_ changed: [Path]) -> [Path] {
    let spec = target.spec
    var dropped: [Path] = []
    func drop(_ key: Key) {
      server.node = server.node.setting(key, to: .empty)
      dropped.append(Path([key]))
    }
    for path in changed {
      guard let key = path.first, !key.isPriority else { continue }
      let node = server.node[key]
      if !node.isEmpty && !spec.contains(key, node) { drop(key) }
    }
    for key in spec.excess(in: server.node) { drop(key) }
    return dropped
  }

  /// Takes an acknowledged write for the server's data where that is unknown, so that it stays visible
  /// until the server answers the listen.
  ///
  /// - Parameters:
  ///   - changes: the write, relative to the view.
  ///   - isEarly: whether the known server data is older than the write.
  /// - Returns: children that a filtered view no longer holds.
  func adopt(_ changes: [NodeChange], isEarly: Bool) -> [Path] {
    if server.isComplete && !adoptsAll {
      if isEarly { return replaceParts(changes) }
      return []
    }
    for change in changes {
      guard let key = change.path.first else {
        var node = change.node
        if !adoptsAll {
          known = server.node
          if !isEarly {
            for child in server.node.children { node = node.setting(child.key, to: child.node) }
          }
        }
        server = CachedNode(node, isComplete: true, isFiltered: false)
        adoptsAll = true
        continue
      }
      if adoptsAll || adopted.contains(key) {
        server.node = server.node.setting(change.path, to: change.node)
      } else if change.path.count == 1 && !key.isPriority && server.node[key].isEmpty {
        server.node = server.node.setting(key, to: change.node)
        adopted.insert(key)
      } else if isEarly && !key.isPriority && !server.node[key].isEmpty {
        server.node = server.node.setting(change.path, to: change.node)
      }
    }
    return []
  }

  /// Puts a write into complete server data that is older than it.
  private func replaceParts(_ changes: [NodeChange]) -> [Path] {
    let isFiltered = server.isFiltered
    for change in changes {
      if let key = change.path.first {
        if isFiltered && key.isPriority { continue }
        // Part of an unknown child does not make the child known.
        if isFiltered && change.path.count > 1 && server.node[key].isEmpty { continue }
        server.node = server.node.setting(change.path, to: change.node)
      } else {
        server.node = isFiltered ? target.spec.filtered(change.node) : change.node
      }
    }
    return isFiltered ? trim(changes.map(\.path)) : []
  }

  /// The change of a filtered listen's keys since the last call, which the owner stores.
  func takeWindow() -> SyncResult.Window? {
    guard !loadsAllData, server.isFiltered, server.isComplete else { return nil }
    var window = SyncResult.Window(target, added: [], removed: [], replacesAll: reported == nil)
    for (key, old, new) in server.node.changes(since: reported ?? .empty) {
      if old.isEmpty { window.added.append(key) }
      if new.isEmpty { window.removed.append(key) }
    }
    reported = server.node
    return window.replacesAll || !window.added.isEmpty || !window.removed.isEmpty ? window : nil
  }
}
