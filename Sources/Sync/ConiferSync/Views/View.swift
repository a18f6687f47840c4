import ConiferQuery
import ConiferTree

/// What the listeners of one target see: the server's data, with pending writes on top, as the query
/// shows it.
final class View {
  struct Listener {
    let id: ListenerID
    let kinds: DataEvent.Kinds
    let isSilent: Bool
  }

  let target: QueryTarget
  /// The tag of the pushes of a filtered query; nil when all data is loaded.
  let tag: Int?
  var listeners: [Listener] = []
  /// The server's data. The children of an incomplete or filtered node are whole.
  var server: CachedNode
  /// Whether the server has answered since the view opened.
  var isConfirmed = false
  /// Children whose data is an acknowledged write and did not come from the server.
  var adopted: Set<Key> = []
  /// Whether the whole data is such a write.
  var adoptsAll = false
  /// The server data that was known before the whole was adopted.
  var known = Node.empty
  /// The server data whose keys the owner was told; nil before it was told any.
  var reported: Node?
  /// The data with the writes, before and after the filter.
  private(set) var shown: NodeView
  /// Whether all that the query asks for is known.
  private(set) var isComplete: Bool

  init(_ target: QueryTarget, tag: Int?, _ server: CachedNode, _ overlay: Overlay) {
    self.target = target
    self.tag = tag
    self.server = server
    let cursor = overlay.cursor(at: target.path)
    isComplete = server.isComplete || cursor.cover != nil
    let isWhole = server.isComplete && !server.isFiltered
    shown = NodeView(target.spec, of: cursor.applied(to: server.node, isWhole: isWhole))
  }

  var loadsAllData: Bool { target.spec.loadsAllData }

  /// The listen that the view's data comes from.
  var listen: Listen { Listen(target.normalized, tag: tag) }

  /// The part of the confirmed data that the server sends for the view's listen.
  var window: CachedNode { window(of: confirmed) }

  /// The part of some data that the server sends for the view's listen.
  func window(of data: CachedNode) -> CachedNode {
    if loadsAllData || data.isFiltered { return data }
    return CachedNode(
      target.spec.filtered(data.node), isComplete: data.isComplete, isFiltered: true)
  }

  /// The server's data without adopted writes: another client may have replaced them before the server
  /// saw the listen.
  private var confirmed: CachedNode {
    guard adoptsAll || !adopted.isEmpty else { return server }
    var data = server
    if adoptsAll {
      data.node = known
      data.isComplete = false
    }
    for key in adopted { data.node = data.node.setting(key, to: .empty) }
    return data
  }

  /// The whole server data at a path below, if this view knows it.
  func serverData(at path: Path) -> Node? {
    if loadsAllData && server.isComplete { return server.node[path] }
    guard let key = path.first, !key.isPriority, !server.node[key].isEmpty else { return nil }
    return server.node[path]
  }

  /// Brings what the view shows up to date after a change of the server's data or of the writes.
  ///
  /// - Parameters:
  ///   - paths: where something changed, relative to the view.
  ///   - overlay: the writes.
  /// - Returns: the events, in the order in which listeners are told.
  func refresh(_ paths: [Path], _ overlay: Overlay) -> [DataEvent] {
    let cursor = overlay.cursor(at: target.path)
    let wasComplete = isComplete
    isComplete = server.isComplete || cursor.cover != nil
    let isWhole = server.isComplete && !server.isFiltered
    var source = shown.source
    if paths.contains(where: \.isRoot) {
      source = cursor.applied(to: server.node, isWhole: isWhole)
    } else {
      for path in paths {
        source = cursor.refreshed(
          source, over: server.node, along: path.keys[...], isWhole: isWhole)
      }
    }
    let old = shown.node
    let changes = shown.update(to: source)
    guard listeners.contains(where: { !$0.isSilent }) else { return [] }
    var events = changes.map { event(of: $0) }
    let new = shown.node
    let isChanged = !changes.isEmpty || old.leaf != new.leaf || old.priority != new.priority
    if isComplete && (isChanged || !wasComplete) {
      events.append(DataEvent(.value, target, node: new))
    }
    return events
  }

  /// What a new listener is told.
  func initialEvents() -> [DataEvent] {
    var events: [DataEvent] = []
    var previous: Key?
    for child in shown.children {
      events.append(
        DataEvent(.childAdded, target, key: child.key, node: child.node, previousKey: previous))
      previous = child.key
    }
    if isComplete { events.append(DataEvent(.value, target, node: shown.node)) }
    return events
  }

  private func event(of change: ChildChange) -> DataEvent {
    let kind: DataEvent.Kind =
      switch change.kind {
      case .removed: .childRemoved
      case .added: .childAdded
      case .moved: .childMoved
      case .changed: .childChanged
      }
    let previous = change.kind == .removed ? nil : shown.previousKey(of: change.key)
    return DataEvent(kind, target, key: change.key, node: change.node, previousKey: previous)
  }
}

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
  ///   - isDataMissing: whether the known server data is older than the write.
  /// - Returns: children that a filtered view no longer holds.
  func adopt(_ changes: [NodeChange], isDataMissing: Bool) -> [Path] {
    if server.isComplete && !adoptsAll {
      if isDataMissing { return replaceParts(changes) }
      return []
    }
    for change in changes {
      guard let key = change.path.first else {
        var node = change.node
        if !adoptsAll {
          known = server.node
          if !isDataMissing {
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
      } else if isDataMissing && !key.isPriority && !server.node[key].isEmpty {
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
