import ConiferQuery
import ConiferTree

/// What a view knows of the server's data: it is told what the server sends and which writes it has acknowledged, and
/// says where the data changed.
struct ServerData {
  /// Children that are known, each of them whole; others may be missing.
  private struct Children {
    var node: Node
    /// Those among them that acknowledged writes changed, which the server has not sent yet: what it had sent of them.
    var adopted: [Key: Node] = [:]

    /// The children that the server sent.
    var sent: Node { adopted.reduce(node) { $0.setting($1.key, to: $1.value) } }

    /// Takes in a change from the server.
    mutating func receive(_ change: NodeChange) {
      guard let key = change.path.first else { return }
      // Part of an unknown child does not make the child known.
      if change.path.count > 1 && node[key].isEmpty { return }
      node = node.setting(change.path, to: change.node)
      if change.path.count == 1 {
        adopted[key] = nil
      } else if let before = adopted[key], !before.isEmpty {
        adopted[key] = before.setting(change.path.dropFirst(), to: change.node)
      }
    }

    /// Takes in a change by an acknowledged write.
    mutating func adopt(_ change: NodeChange, isDataMissing: Bool) {
      guard let key = change.path.first, !key.isPriority else { return }
      if adopted[key] == nil {
        if !node[key].isEmpty {
          // What the server sent counts, unless it is older.
          guard isDataMissing else { return }
        } else {
          // Part of an unknown child does not make the child known.
          guard change.path.count == 1 else { return }
        }
        adopted[key] = node[key]
      }
      node = node.setting(change.path, to: change.node)
    }
  }

  private enum Knowledge {
    /// Some children, maybe none.
    case partial(Children)
    /// All that the query asks for, as acknowledged writes made it, and what was known before that, which is never this case.
    indirect case adopted(Node, before: Knowledge)
    /// All that the query asks for, from the cache or another view; filtered if it is no more than that.
    case cached(Node, isFiltered: Bool)
    /// All that the query asks for, as the server has said since the view opened.
    case confirmed(Node, isFiltered: Bool)
  }

  private let spec: QuerySpec
  private var knowledge: Knowledge

  init(_ spec: QuerySpec, _ cached: CachedNode) {
    self.spec = spec
    knowledge =
      cached.isComplete
      ? .cached(cached.node, isFiltered: cached.isFiltered)
      : .partial(Children(node: cached.node))
  }

  /// All that is known, acknowledged writes included.
  private(set) var node: Node {
    get {
      switch knowledge {
      case .partial(let children): children.node
      case .adopted(let node, _), .cached(let node, _), .confirmed(let node, _): node
      }
    }
    set {
      switch knowledge {
      case .partial(var children):
        children.node = newValue
        knowledge = .partial(children)
      case .adopted(_, let before): knowledge = .adopted(newValue, before: before)
      case .cached(_, let isFiltered): knowledge = .cached(newValue, isFiltered: isFiltered)
      case .confirmed(_, let isFiltered): knowledge = .confirmed(newValue, isFiltered: isFiltered)
      }
    }
  }

  /// Whether it is all that the query asks for.
  var isComplete: Bool { if case .partial = knowledge { false } else { true } }

  /// Whether it may be less than the whole node since the query asks for less.
  var isFiltered: Bool {
    switch knowledge {
    case .partial: !spec.loadsAllData
    case .cached(_, let isFiltered), .confirmed(_, let isFiltered),
      .adopted(_, .cached(_, let isFiltered)), .adopted(_, .confirmed(_, let isFiltered)):
      isFiltered
    case .adopted: false
    }
  }

  /// Whether it is the whole node.
  var isWhole: Bool { isComplete && !isFiltered }

  /// Whether the server has ever told all that the query asks for.
  var wasEverComplete: Bool {
    switch knowledge {
    case .partial, .adopted(_, .partial): false
    case .cached, .confirmed, .adopted: true
    }
  }

  /// Whether the server has answered since the view opened.
  var isConfirmed: Bool {
    switch knowledge {
    case .confirmed, .adopted(_, .confirmed): true
    case .partial, .cached, .adopted: false
    }
  }

  /// The part that the server sends for the view's own listen, without acknowledged writes: another client
  /// may have replaced them before the server saw the listen.
  var sent: Node { sent(knowledge) }

  private func sent(_ knowledge: Knowledge) -> Node {
    switch knowledge {
    case .partial(let children): children.sent
    case .adopted(_, let before): spec.filtered(sent(before))
    case .cached(let node, let isFiltered), .confirmed(let node, let isFiltered):
      isFiltered ? node : spec.filtered(node)
    }
  }

  // MARK: From the server

  /// Takes in data from the server.
  ///
  /// - Parameters:
  ///   - changes: the new nodes, by paths relative to the view.
  ///   - isMerge: whether the rest of the node may be unknown.
  ///   - isTagged: whether they belong to this view's own filtered listen.
  /// - Returns: where the data changed.
  mutating func receive(_ changes: [NodeChange], isMerge: Bool, isTagged: Bool) -> [Path] {
    var changes = changes[...]
    var paths: [Path] = []
    if let whole = changes.lastIndex(where: \.path.isRoot) {
      let isFiltered = isTagged && !spec.loadsAllData
      let node = changes[whole].node
      knowledge = .confirmed(isFiltered ? spec.filtered(node) : node, isFiltered: isFiltered)
      changes = changes[(whole + 1)...]
      paths = [.root]
    } else if isMerge && !isComplete && node.isEmpty {
      // It belongs to a listen that has ended, and does not tell what else there is.
      return []
    }
    if changes.isEmpty { return paths }
    if isTagged { paths += narrow() }
    for change in changes where concerns(change) {
      changeChildren { $0.receive(change) }
      changeBefore(change)
      if isComplete { node = node.setting(change.path, to: change.node) }
      paths.append(change.path)
    }
    return paths + trim(paths)
  }

  /// Changes the children that are known one by one, if that is so. They are taken out meanwhile, so that they
  /// have one owner and are changed without being copied.
  private mutating func changeChildren(_ body: (inout Children) -> Void) {
    switch knowledge {
    case .partial(var children):
      knowledge = .partial(Children(node: .empty))
      body(&children)
      knowledge = .partial(children)
    case .adopted(let node, .partial(var children)):
      knowledge = .partial(Children(node: .empty))
      body(&children)
      knowledge = .adopted(node, before: .partial(children))
    case .adopted, .cached, .confirmed: break
    }
  }

  /// Lays a change over the complete data that was known before writes were adopted, if that is so.
  private mutating func changeBefore(_ change: NodeChange) {
    func changed(_ old: Node, _ isFiltered: Bool) -> Node {
      let isUnknown = isFiltered && change.path.count > 1 && old[change.path.keys[0]].isEmpty
      return isUnknown ? old : old.setting(change.path, to: change.node)
    }
    switch knowledge {
    case .adopted(let node, .cached(let old, let isPart)):
      knowledge = .adopted(node, before: .cached(changed(old, isPart), isFiltered: isPart))
    case .adopted(let node, .confirmed(let old, let isPart)):
      knowledge = .adopted(node, before: .confirmed(changed(old, isPart), isFiltered: isPart))
    case .adopted, .partial, .cached, .confirmed: break
    }
  }

  /// Keeps no more than the query asks for, where the whole node was known.
  ///
  /// - Returns: where the data changed.
  private mutating func narrow() -> [Path] {
    guard !spec.loadsAllData, let narrower = narrowed(knowledge) else { return [] }
    knowledge = narrower
    return [.root]
  }

  private func narrowed(_ knowledge: Knowledge) -> Knowledge? {
    switch knowledge {
    case .cached(let node, isFiltered: false): .cached(spec.filtered(node), isFiltered: true)
    case .confirmed(let node, isFiltered: false): .confirmed(spec.filtered(node), isFiltered: true)
    case .adopted(let node, let before):
      narrowed(before).map { .adopted(spec.filtered(node), before: $0) }
    case .partial, .cached, .confirmed: nil
    }
  }

  /// Whether a change of a child or the priority changes what is known.
  private func concerns(_ change: NodeChange) -> Bool {
    guard let key = change.path.first else { return false }
    if key.isPriority { return !isFiltered }
    // Part of an unknown child does not make the child known.
    return change.path.count == 1 || isWhole || !node[key].isEmpty
  }

  /// Takes in that what the server has sent is all that the query asks for.
  mutating func confirm() { knowledge = .confirmed(sent, isFiltered: !spec.loadsAllData) }

  /// Removes children outside of the query's range and limit.
  ///
  /// - Returns: the children that were removed.
  private mutating func trim(_ changed: [Path]) -> [Path] {
    guard isFiltered else { return [] }
    var removed: [Path] = []
    for key in changed.compactMap(\.first) where !key.isPriority {
      guard !node[key].isEmpty, !spec.contains(key, node[key]) else { continue }
      node = node.setting(key, to: .empty)
      removed.append(Path([key]))
    }
    for key in spec.excess(in: node) {
      node = node.setting(key, to: .empty)
      removed.append(Path([key]))
    }
    return removed
  }

  // MARK: From acknowledged writes

  /// Takes an acknowledged write for the server's data where that is unknown, so that it stays visible
  /// until the server answers the listen.
  ///
  /// - Parameters:
  ///   - changes: the write, relative to the view.
  ///   - isDataMissing: whether the known data may be older than the write, which then replaces it.
  /// - Returns: children that a filtered view no longer holds.
  mutating func adopt(_ changes: [NodeChange], isDataMissing: Bool) -> [Path] {
    switch knowledge {
    case .partial, .adopted(_, .partial):
      for change in changes { adopt(change, isDataMissing: isDataMissing) }
      return []
    case .adopted: return isDataMissing ? replaceParts(changes) : []
    case .cached, .confirmed:
      if isDataMissing { knowledge = .adopted(node, before: knowledge) }
      return isDataMissing ? replaceParts(changes) : []
    }
  }

  private mutating func adopt(_ change: NodeChange, isDataMissing: Bool) {
    if isComplete {
      node = node.setting(change.path, to: change.node)
    } else if change.path.isRoot, case .partial(let children) = knowledge {
      let newer = isDataMissing ? Node.empty : children.node
      let node = newer.children.reduce(change.node) { $0.setting($1.key, to: $1.node) }
      knowledge = .adopted(node, before: .partial(children))
    } else {
      changeChildren { $0.adopt(change, isDataMissing: isDataMissing) }
    }
  }

  /// Puts a write into complete data that is older than it.
  private mutating func replaceParts(_ changes: [NodeChange]) -> [Path] {
    for change in changes {
      if change.path.isRoot {
        node = isFiltered ? spec.filtered(change.node) : change.node
      } else if concerns(change) {
        node = node.setting(change.path, to: change.node)
      }
    }
    return trim(changes.map(\.path))
  }
}
