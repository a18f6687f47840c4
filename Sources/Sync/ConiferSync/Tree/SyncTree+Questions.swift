package import ConiferQuery
package import ConiferTree

extension SyncTree {
  /// The whole node at a path as views show it, or nil where some of it is unknown.
  ///
  /// - Parameters:
  ///   - path: where.
  ///   - filter: which writes are laid over the server's data.
  package func value(at path: Path, _ filter: OverlayFilter = OverlayFilter()) -> Node? {
    if let parent = path.parent, path.last?.isPriority == true {
      return value(at: parent, filter)?[.priority]
    }
    let cursor = overlay.cursor(at: path, filter)
    if cursor.cover != nil { return cursor.applied(to: .empty) }
    return views.serverData(at: path).map { cursor.applied(to: $0.node) }
  }

  /// What a target shows, or nil where some of it is unknown: the data of its open view, or the query
  /// applied to the whole node.
  package func value(of target: QueryTarget) -> Node? {
    if let view = view(of: target), view.isComplete {
      return target.spec.filtered(view.shown.node)
    }
    return value(at: target.path).map { target.spec.filtered($0) }
  }

  /// What open views show of a target; nil where none is open that shows all of it.
  package func shown(of target: QueryTarget) -> KnownNode? {
    if view(of: target)?.isComplete != true, views.serverData(at: target.path) == nil { return nil }
    return known(of: target)
  }

  /// What a target shows, and how well that is known; nil where some of it is unknown.
  package func known(of target: QueryTarget) -> KnownNode? {
    value(of: target).map { KnownNode($0, knowledge(of: target)) }
  }

  /// How well what a target shows is known.
  package func knowledge(of target: QueryTarget) -> ViewKnowledge {
    let cursor = overlay.cursor(at: target.path)
    if let view = view(of: target), view.isComplete { return view.knowledge(cursor) }
    let hasWrites = cursor.hasWrites
    guard let (server, view) = views.serverData(at: target.path) else {
      return ViewKnowledge(hasPendingWrites: hasWrites)
    }
    let spec = target.spec
    let isChanged =
      hasWrites
      && (spec.loadsAllData || spec.filtered(cursor.applied(to: server)) != spec.filtered(server))
    return ViewKnowledge(
      isCurrent: view.contact.isCurrent, wasEverComplete: true, serverTime: view.contact.time,
      hasPendingWrites: isChanged)
  }

  /// What the server sent for the listen of an open view, without acknowledged writes; nil without a view.
  package func sentData(of target: QueryTarget) -> Node? { view(of: target)?.server.sent }

  /// A write's node with its server values as the server may resolve them.
  ///
  /// Increments add to what is known at their own paths, hidden writes included, and to nothing
  /// where that is unknown.
  ///
  /// - Parameters:
  ///   - node: the node, which may hold server values.
  ///   - path: where it is to be written.
  ///   - now: the server's time in milliseconds since 1970.
  package func resolve(_ node: Node, at path: Path, now: Int64) -> Node {
    guard node.hasServerValues else { return node }
    if let existing = value(at: path, OverlayFilter(includesHidden: true)) {
      return node.resolvingServerValues(over: existing, now: now)
    }
    guard node.childCount > 0 else { return node.resolvingServerValues(over: .empty, now: now) }
    // The node is not known as a whole, but some of its children may be.
    var result = node
    for child in node.children where child.node.hasServerValues {
      let resolved = resolve(child.node, at: path.appending(child.key), now: now)
      result = result.setting(child.key, to: resolved)
    }
    if let priority = result.priority {
      let resolved = Node(priority.leaf).resolvingServerValues(over: .empty, now: now)
      result = result.setting(.priority, to: resolved)
    }
    return result
  }

  // MARK: Which views are open

  /// Whether a listener listens, to any target.
  package func contains(_ id: ListenerID) -> Bool { views.view(of: id) != nil }

  /// The view of exactly a target; for the default target any view that loads all data.
  func view(of target: QueryTarget) -> View? { views.view(of: target) }

  /// The target of the filtered view with a tag.
  package func target(ofTag tag: Int) -> QueryTarget? { views.view(tagged: tag)?.target.normalized }

  /// Whether a view that loads all data is open at a path or above.
  package func hasWholeView(covering path: Path) -> Bool { views.hasWholeView(covering: path) }

  /// Whether a view is open at a path or above it.
  package func hasView(covering path: Path) -> Bool { views.contains(covering: path) }

  /// Whether a view is open at a path or below it.
  package func hasView(within path: Path) -> Bool { views.contains(within: path) }

  /// Whether a view is open at a path, above or below it.
  package func hasView(touching path: Path) -> Bool {
    hasView(covering: path) || hasView(within: path)
  }

  /// The paths at which views are open.
  package var viewPaths: [Path] { views.paths }
}
