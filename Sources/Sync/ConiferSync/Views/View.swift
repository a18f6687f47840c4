import ConiferQuery
import ConiferTree

/// What the listeners of one target see: the server's data, with pending writes on top, as the query
/// shows it.
final class View {
  struct Listener {
    let id: ListenerID
    let kinds: DataEvent.Kinds

    /// Adds an event to the result if the listener wants it.
    func tell(_ event: DataEvent, into result: inout SyncResult) {
      guard !id.isSilent, kinds.contains(DataEvent.Kinds(event.kind)) else { return }
      result.events.append(SyncResult.Raised(id, event))
    }
  }

  let target: QueryTarget
  /// The tag of the pushes of a filtered query; nil when all data is loaded.
  let tag: Int?
  var listeners: [Listener] = []
  /// What is known of the server's data.
  var server: ServerData
  /// When the server last spoke for that, and whether it still does.
  var contact: ServerContact
  /// The children whose keys the owner was told; nil before it was told any.
  private var reported: Node?
  /// The data with the writes, before and after the filter.
  private(set) var shown: NodeView
  /// Whether all that the query asks for is known.
  private(set) var isComplete: Bool

  init(
    _ target: QueryTarget, tag: Int?, _ cached: CachedNode, _ contact: ServerContact,
    _ overlay: Overlay
  ) {
    self.target = target
    self.tag = tag
    self.contact = contact
    server = ServerData(target.spec, cached)
    let cursor = overlay.cursor(at: target.path)
    isComplete = server.isComplete || cursor.cover != nil
    shown = NodeView(target.spec, of: cursor.applied(to: server.node, isWhole: server.isWhole))
  }

  var loadsAllData: Bool { target.spec.loadsAllData }

  /// The listen that the view's data comes from.
  var listen: Listen { Listen(target.normalized, tag: tag) }

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
    var source = shown.source
    if paths.contains(where: \.isRoot) {
      source = cursor.applied(to: server.node, isWhole: server.isWhole)
    } else {
      for path in paths {
        source = cursor.refreshed(
          source, over: server.node, along: path.keys[...], isWhole: server.isWhole)
      }
    }
    let old = shown.node
    let changes = shown.update(to: source)
    guard listeners.contains(where: { !$0.id.isSilent }) else { return [] }
    let new = shown.node
    let isChanged = !changes.isEmpty || old.leaf != new.leaf || old.priority != new.priority
    let isTold = isComplete && (isChanged || !wasComplete)
    if changes.isEmpty && !isTold { return [] }
    let telling = Telling(self, cursor)
    var events = changes.map { change in
      let key = change.key
      let previous = change.kind == .removed ? nil : shown.previousKey(of: key)
      return telling.event(kind(of: change), key, change.node, after: previous)
    }
    if isTold { events.append(telling.value(new)) }
    return events
  }

  /// What a new listener is told.
  ///
  /// - Parameter overlay: the writes.
  func initialEvents(_ overlay: Overlay) -> [DataEvent] {
    let telling = Telling(self, overlay.cursor(at: target.path))
    var events: [DataEvent] = []
    var previous: Key?
    for child in shown.children {
      events.append(telling.event(.childAdded, child.key, child.node, after: previous))
      previous = child.key
    }
    if isComplete { events.append(telling.value(shown.node)) }
    return events
  }

  private func kind(of change: ChildChange) -> DataEvent.Kind {
    switch change.kind {
    case .removed: .childRemoved
    case .added: .childAdded
    case .moved: .childMoved
    case .changed: .childChanged
    }
  }

  /// The change of a filtered listen's keys since the last call, which the owner stores.
  func takeWindowChange() -> SyncResult.WindowChange? {
    guard !loadsAllData, server.isFiltered, server.isComplete else { return nil }
    var change = SyncResult.WindowChange(
      target, added: [], removed: [], replacesAll: reported == nil)
    for (key, old, new) in server.node.changes(since: reported ?? .empty) {
      if old.isEmpty { change.added.append(key) }
      if new.isEmpty { change.removed.append(key) }
    }
    reported = server.node
    return change.replacesAll || !change.added.isEmpty || !change.removed.isEmpty ? change : nil
  }
}

// MARK: How well it is known

extension View {
  /// Makes the events of one step, which says of each how well it is known: found once, and of a child no more than
  /// whether a write waits in it, if one does in the view.
  private struct Telling {
    let target: QueryTarget
    let knowledge: ViewKnowledge
    let cursor: OverlayCursor

    init(_ view: View, _ cursor: OverlayCursor) {
      target = view.target
      knowledge = view.knowledge(cursor)
      self.cursor = cursor
    }

    func value(_ node: Node) -> DataEvent {
      DataEvent(.value, target, node: node, knowledge: knowledge)
    }

    func event(_ kind: DataEvent.Kind, _ key: Key, _ node: Node, after previous: Key?) -> DataEvent
    {
      var knowledge = knowledge
      if knowledge.hasPendingWrites { knowledge.hasPendingWrites = cursor.child(key).hasWrites }
      return DataEvent(
        kind, target, key: key, node: node, previousKey: previous, knowledge: knowledge)
    }
  }

  /// How well what is shown is known.
  ///
  /// - Parameter cursor: the writes at the view's path and below.
  func knowledge(_ cursor: OverlayCursor) -> ViewKnowledge {
    ViewKnowledge(
      isCurrent: contact.isCurrent, wasEverComplete: server.wasEverComplete,
      serverTime: contact.time, hasPendingWrites: showsWrites(cursor))
  }

  /// Whether a write changes what is shown. Of a filtered view the fewer are looked at: its children, or those with writes.
  private func showsWrites(_ cursor: OverlayCursor) -> Bool {
    guard cursor.hasWrites else { return false }
    if loadsAllData || cursor.cover != nil { return true }
    let isChanged = { (key: Key) in self.concerns(key) && cursor.child(key).hasWrites }
    let written = cursor.writtenChildren
    if written.count <= shown.node.childCount + server.node.childCount {
      return written.contains(where: isChanged)
    }
    return shown.node.children.contains { isChanged($0.key) }
      || server.node.children.contains { isChanged($0.key) }
  }

  /// Whether a child is shown by a filtered view, or would be without the writes. Where the whole node is known, one that
  /// writes moved across the edge of a limit alone is not seen as one of these.
  private func concerns(_ key: Key) -> Bool {
    if !shown.node[key].isEmpty { return true }
    let before = server.node[key]
    if before.isEmpty { return false }
    guard server.isWhole else { return true }
    return target.spec.contains(key, before) && !target.spec.contains(key, shown.source[key])
  }
}
