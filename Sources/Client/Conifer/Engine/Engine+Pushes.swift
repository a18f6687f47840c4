import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Logging

extension Engine {
  /// Takes news of the server: views first, in memory alone; then one commit, and then the events.
  func pushed(_ push: Push) {
    switch push {
    case .overwrite(let path, let node, let tag):
      changed(path, [NodeChange(.root, node)], tag, tree.overwrite(path, node, tag: tag))
    case .merge(let path, let changes, let tag):
      changed(path, changes, tag, tree.merge(path, changes, tag: tag))
    case .rangeMerge(let path, let ranges, let tag):
      guard let target = tag.map({ tags[$0] }) ?? QueryTarget(path) else { return }
      let before = tree.serverData(of: target)?.node ?? .empty
      let result = tree.mergeRanges(path, ranges, tag: tag)
      let after = tree.serverData(of: target)?.node ?? .empty
      changed(path, after.changes(from: before), tag, result, isWhole: true)
    case .listenRevoked, .authRevoked, .appCheckRevoked: break
    case .debug(let words):
      setup.logger.debug("the server says", metadata: ["words": "\(words)"])
    }
  }

  /// Stores what the views show of a change of server data, and tells the listeners then.
  ///
  /// - Parameters:
  ///   - path: where.
  ///   - changes: what changed; their paths are relative to it.
  ///   - tag: that of the filtered listen which it is for.
  ///   - result: what the views made of it.
  ///   - isWhole: whether the listen at the path has all its data now.
  private func changed(
    _ path: Path, _ changes: [NodeChange], _ tag: Int?, _ result: SyncResult, isWhole: Bool = false
  ) {
    let target: QueryTarget?
    if let tag {
      target = tags[tag]
    } else {
      target = path.prefixes.lazy.map { QueryTarget($0) }.first { active[$0] != nil }
    }
    let paths = changes.map { path.appending($0.path).owner }
    guard let target, let query = active[target] else { return raiseStored(result, paths) }
    // Kept longer, it would keep old data in memory.
    active[target]?.hash = nil
    // What could not be stored before is stored as a whole.
    let isWhole =
      isWhole || (path == target.path && changes.first?.path.isRoot == true)
      || (query.isBehind && query.isWhole)
    var edits: [StorageEdit]
    if query.isBehind {
      edits = snapshot(of: target)
    } else if tag == nil {
      edits =
        changes.count == 1 && changes[0].path.isRoot
        ? [.overwrite(treeID, path, changes[0].node)] : [.merge(treeID, path, changes)]
    } else {
      let relative = path.relative(to: target.path) ?? .root
      edits = window(
        target, changes.map { NodeChange(relative.appending($0.path), $0.node) }, result.windows)
    }
    store(edits, of: target, isWhole: isWhole)
    if tag == nil { store(result.windows) }
    raiseStored(result, paths)
  }

  /// The server has sent all of a listen's data, or the client had it.
  func completed(_ target: QueryTarget) {
    guard let query = active[target] else { return }
    let result = tree.complete(target)
    if !query.isComplete || query.isBehind {
      store(snapshot(of: target), of: target, isWhole: true)
    } else if !query.isWhole {
      store([], of: target, isWhole: true)
    }
    raiseStored(result, [target.path])
  }

  /// Tells listeners and transactions of a change, behind the commits that wait.
  private func raiseStored(_ result: SyncResult, _ paths: [Path]) {
    guard !result.events.isEmpty || !transactions.machine.isEmpty else { return }
    add([]) { [self] _ in
      raise(result)
      dataChanged(paths)
    }
  }

  // MARK: What is stored

  /// The tree of the database's data; there is one while listens are active.
  var treeID: TreeID { lane?.tree ?? TreeID(rawValue: 0) }

  /// Commits server data of an active listen; what fails is stored as a whole with the next news.
  private func store(_ edits: [StorageEdit], of target: QueryTarget, isWhole: Bool) {
    if isWhole { active[target]?.isWhole = true }
    guard let query = active[target] else { return }
    switch query.record {
    case .none: break
    case .new(let record):
      guard record.isDefault else {
        active[target]?.isBehind = true
        return number(query.listen, record)
      }
      store(edits, of: query.listen, record, isWhole: isWhole)
    case .numbering(let record):
      // The first data may yet fail: this must not make complete what is not there.
      if !record.isDefault || isWhole && !record.isComplete {
        active[target]?.isBehind = true
      } else {
        store(edits, of: target)
      }
    case .stored(let stored): store(edits, of: target, stored, isWhole: isWhole)
    }
  }

  private func store(
    _ edits: [StorageEdit], of target: QueryTarget, _ stored: StoredQuery, isWhole: Bool
  ) {
    var edits = edits
    if isWhole, target.spec.isDefault { edits += outdated(below: target.path) }
    let completes = isWhole && !stored.query.isComplete
    if completes {
      var query = stored.query
      query.isComplete = true
      edits.append(.saveQuery(query))
      active[target]?.record = .stored(StoredQuery(id: stored.id, query: query))
    }
    guard !edits.isEmpty else { return }
    active[target]?.isBehind = false
    store(edits, of: target) { [self] in
      if completes { active[target]?.record = .stored(stored) }
    }
  }

  private func store(
    _ edits: [StorageEdit], of target: QueryTarget, _ failed: @escaping () -> Void = {}
  ) {
    guard !edits.isEmpty else { return }
    add(edits) { [self] result in
      guard case .failure(let error) = result else { return }
      notCached(target, error)
      failed()
    }
  }

  /// Commits the first data of a plain listen, and the record of its query with it.
  private func store(
    _ edits: [StorageEdit], of listen: Listen, _ record: TrackedQuery, isWhole: Bool
  ) {
    let target = listen.target
    var query = record
    query.isComplete = query.isComplete || isWhole
    var edits = edits
    if isWhole { edits += outdated(below: target.path) }
    edits.append(.saveQuery(query))
    active[target]?.isBehind = false
    save(edits, of: listen, query, orElse: record)
  }

  /// Stores the record of a filtered listen by itself, as the keys of its query are stored under the
  /// number that it is given; what the listen has by then is stored behind it.
  func number(_ listen: Listen, _ record: TrackedQuery) {
    save([.saveQuery(record)], of: listen, record, orElse: record)
  }

  /// Commits the record of a listen that is new to the store; when that fails, with the next news.
  private func save(
    _ edits: [StorageEdit], of listen: Listen, _ query: TrackedQuery, orElse old: TrackedQuery
  ) {
    let target = listen.target
    active[target]?.record = .numbering(query)
    add(edits) { [self] result in
      guard active[target]?.listen == listen else { return }
      switch result {
      case .success(let numbers):
        // Of the queries that were saved, its own is the last; one that is being evicted is new again.
        guard let id = numbers.queries.last, backend?.setActive(true, id, in: query.tree) == true
        else {
          active[target]?.isBehind = true
          active[target]?.record = .new(old)
          return
        }
        active[target]?.record = .stored(StoredQuery(id: id, query: query))
        guard let active = active[target], active.isBehind else { return }
        store(snapshot(of: target), of: target, isWhole: active.isWhole)
      case .failure(let error):
        notCached(target, error)
        active[target]?.record = .new(old)
      }
    }
  }

  private func notCached(_ target: QueryTarget, _ error: StoreError) {
    setup.logger.error(
      "server data is not cached", metadata: ["target": "\(target)", "cause": "\(error)"])
    active[target]?.isBehind = true
  }

  /// Edits that end the completeness of what filtered queries hold at and below a path where all data
  /// was replaced: what they hold is older.
  func outdated(below path: Path) -> [StorageEdit] {
    incomplete { (view, tree) throws(StoreError) in
      let found = try view.trackedQueries(tree, at: path) + view.trackedQueries(tree, below: path)
      return found.filter { !$0.query.isDefault }
    }
  }

  /// Edits that end the completeness of filtered queries above a path where something changed: it may
  /// have come in to what they hold, or gone.
  func outdated(above path: Path) -> [StorageEdit] {
    incomplete { (view, tree) throws(StoreError) in
      var found: [StoredQuery] = []
      for prefix in path.prefixes.dropLast() { found += try view.trackedQueries(tree, at: prefix) }
      return found.filter { !$0.query.isDefault }
    }
  }

  /// Edits that end the completeness of what holds a place until the server has told what it holds
  /// now.
  func lost(around path: Path) -> [StorageEdit] {
    let edits = incomplete(around: path)
    let above = edits.compactMap { edit -> StoredQuery? in
      guard case .saveQuery(var query) = edit, query.isDefault, query.path.contains(path),
        let stored = read({ (view, lane) throws(StoreError) in
          try view.trackedQuery(lane.tree, query.path, query.parameters)
        }), let stored
      else { return nil }
      query.isComplete = true
      return StoredQuery(id: stored.id, query: query)
    }
    openIncrements.wait(for: path, above)
    return edits
  }

  /// Edits that make complete again what lacked nothing but a place that is known now.
  func found(_ path: Path) -> [StorageEdit] {
    // What was damaged meanwhile is incomplete for another reason.
    reportIncidents()
    return openIncrements.resolve(path).compactMap { whole in
      let stored = read { (view, lane) throws(StoreError) in
        try view.trackedQuery(lane.tree, whole.query.path, whole.query.parameters)
      }
      // It may be evicted by now.
      guard let stored, var query = stored?.query, stored?.id == whole.id else { return nil }
      query.isComplete = true
      return .saveQuery(query)
    }
  }

  /// Edits that end the completeness of all that holds a place, or some of it, of which it is not
  /// known what it holds now.
  func incomplete(around path: Path) -> [StorageEdit] {
    let stored = incomplete { (view, tree) throws(StoreError) in
      var found = try view.trackedQueries(tree, below: path)
      for prefix in path.prefixes { found += try view.trackedQueries(tree, at: prefix) }
      return found
    }
    let new = newRecords.filter { $0.path.touches(path) }
    return stored
      + new.map { record in
        var record = record
        record.isComplete = false
        return .saveQuery(record)
      }
  }

  /// Edits that end the completeness of stored queries that no listen keeps up to date.
  private func incomplete(
    _ find: (any StorageView, TreeID) throws(StoreError) -> [StoredQuery]
  ) -> [StorageEdit] {
    let found = read { (view, lane) throws(StoreError) in try find(view, lane.tree) }
    let listened = Set(active.values.compactMap { $0.stored?.id })
    return (found ?? []).compactMap { stored in
      var query = stored.query
      guard query.isComplete, !listened.contains(stored.id) else { return nil }
      query.isComplete = false
      return .saveQuery(query)
    }
  }

  /// Edits that store all that a view has of the server's data.
  func snapshot(of target: QueryTarget) -> [StorageEdit] {
    guard let data = tree.serverData(of: target) else { return [] }
    guard !target.spec.isDefault else { return [.overwrite(treeID, target.path, data.node)] }
    guard let stored = active[target]?.stored else { return [] }
    var edits = data.node.children.map {
      StorageEdit.overwrite(treeID, target.path.appending($0.key), $0.node)
    }
    edits.append(.setTrackedKeys(treeID, stored.id, data.node.children.map(\.key)))
    return edits
  }

  /// Edits that store a change of what a filtered listen holds: children that came in whole, and in
  /// those that stayed only what changed.
  private func window(
    _ target: QueryTarget, _ changes: [NodeChange], _ windows: [SyncResult.Window]
  ) -> [StorageEdit] {
    guard let stored = active[target]?.stored, let data = tree.serverData(of: target)?.node else {
      return []
    }
    let windows = windows.filter { $0.target == target }
    let added = Set(windows.flatMap(\.added))
    let removed = Set(windows.flatMap(\.removed)).subtracting(added)
    var edits = added.sorted().filter { !data[$0].isEmpty }.map {
      StorageEdit.overwrite(treeID, target.path.appending($0), data[$0])
    }
    for change in changes {
      guard let key = change.path.first else {
        for child in data.children where !added.contains(child.key) {
          edits.append(.overwrite(treeID, target.path.appending(child.key), child.node))
        }
        continue
      }
      guard !key.isPriority, !added.contains(key), !data[key].isEmpty else { continue }
      edits.append(.overwrite(treeID, target.path.appending(change.path), change.node))
    }
    if windows.contains(where: \.replacesAll) {
      edits.append(.setTrackedKeys(treeID, stored.id, data.children.map(\.key)))
    } else if !added.isEmpty || !removed.isEmpty {
      edits.append(
        .updateTrackedKeys(treeID, stored.id, added: added.sorted(), removed: removed.sorted()))
    }
    return edits
  }

  /// Stores changes of what filtered listens hold that came with data of another listen.
  func store(_ windows: [SyncResult.Window]) {
    for window in windows {
      guard let query = active[window.target] else { continue }
      let edits =
        query.isBehind ? snapshot(of: window.target) : self.window(window.target, [], [window])
      store(edits, of: window.target, isWhole: false)
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
