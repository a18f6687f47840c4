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
