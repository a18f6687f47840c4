import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Sets damaged records aside, so that all others can be used; runs in a commit of its own.
struct RecordRepair {
  let tx: LeafTransaction

  init(_ tx: LeafTransaction) { self.tx = tx }

  /// Sets a record aside and repairs what refers to it, or a part of that. Work that needs a scan
  /// is left to the mending of the tree.
  ///
  /// - Parameter drop: the progress of dropping the runs of a lost dictionary.
  /// - Returns: the new progress, when another commit must continue.
  /// - Throws: `damaged` when the record is one that the store cannot do without.
  func setAside(
    _ place: StoreError.Place, _ drop: DictionaryDrop? = nil
  ) throws(StoreError) -> DictionaryDrop? {
    guard let space = Spaces.all.first(where: { $0.id == place.space }),
      let cost = DamageCost(place.space), cost != .store, place.key.count >= 4
    else { throw Damage.error(Space(id: place.space, shape: .rows), place.key) }
    let tree = StoreKey.tree(place.key)
    if space == Spaces.usage, place.key == StoreState.signKey {
      // Another sign says the same: that there may have been commits without a number.
      tx.putUncounted(space, place.key, payload: StoreState.newSign)
      return nil
    }
    if cost == .counts {
      try loseUsage(tree)
      // Without counts, indexes were not maintained in the meantime. A damaged index set restarts
      // when it is read.
      _ = try undamaged { () throws(StoreError) in try restartIndexes(tree) }
      return nil
    }
    let info = try Trees.known(tx, tree)
    if drop == nil {
      guard try isDamaged(cost, space, place.key, info) else { return nil }
    }
    switch cost {
    case .run:
      try restartIndexes(tree)
      try dropRuns(place.key, info)
    case .runsOfDictionary:
      if drop == nil { try restartIndexes(tree) }
      return try dropDictionary(place.key, info, drop)
    case .write: try setWriteAside(place.key, info)
    case .partOfWrite: try setPartAside(place.key, info)
    case .finishedWrite: try setFinishedAside(place.key, info)
    case .query: try dropQuery(place.key, info)
    case .keysOfQuery: try dropTrackedKey(place.key, info)
    case .queryIndex: try rebuildQueryIndex(info)
    case .index: try dropIndex(place.key, info)
    case .overlays: try rebuildOverlays(of: space, place.key, info)
    case .collections:
      try tx.delete(space, place.key)
      try MendingMarker.add(tx, info.id)
    case .changes: try MatchesVersions(tx: tx, tree: info.id).forgetAll()
    case .record: try moveToReports(space, place.key, .recordSetAside)
    case .partOfRun, .counts, .store: break
    }
    return nil
  }

  /// Whether a record is still damaged: it may have been set aside and written again since it was
  /// read.
  private func isDamaged(
    _ cost: DamageCost, _ space: Space, _ key: Bytes, _ info: TreeInfo
  ) throws(StoreError) -> Bool {
    let stored = try tx.value(space, key)
    switch cost {
    case .runsOfDictionary: return try isDictionaryDamaged(key, stored, info)
    case .index: return try isIndexDamaged(key, stored, info)
    case .overlays: return isOverlayDamaged(space, key, stored, info)
    case .collections:
      let rows = CollectionRows(view: tx, tree: info.id)
      return stored.map { (try? rows.collection(key, $0)) == nil } ?? false
    case .changes:
      let rows = ChangeLogRows(view: tx, tree: info.id)
      return stored.map { (try? rows.row(key, $0)) == nil } ?? false
    case .run:
      guard let stored else { return false }
      return try isRunDamaged(key, stored, info)
    case .write: return try isWriteDamaged(key, stored, info)
    case .query: return try isQueryDamaged(key, stored, info)
    case .finishedWrite:
      guard let stored else { return false }
      let number = StoreKey.number(atEndOf: key)
      return !Record.isIntact(space, key, stored) || number == 0 || number > Numbers.lastWrite
    case .keysOfQuery where info.order == .documents:
      return try stored.map { (value) throws(StoreError) in
        try isMatchDamaged(key, value, info)
      } ?? false
    case .store, .partOfRun, .partOfWrite, .keysOfQuery, .queryIndex, .counts, .record:
      return stored.map { !Record.isIntact(space, key, $0) } ?? false
    }
  }

  /// Whether a check meets damage, in this record or another one.
  ///
  /// - Throws: `damaged` for a dictionary. The dictionary is set aside first, which may remove the
  ///   record too.
  func meetsDamage(_ check: () throws(StoreError) -> Bool) throws(StoreError) -> Bool {
    do throws(StoreError) {
      return try check()
    } catch {
      guard error.code == .damaged, error.place?.space != Spaces.dictionaries.id else {
        throw error
      }
      return true
    }
  }

  /// The lane that a key of the queue belongs to.
  static func lane(_ key: Bytes, _ info: TreeInfo) -> Lane? {
    guard let end = key.dropFirst(4).firstIndex(of: 0),
      let identity = String(validating: key[4..<end], as: UTF8.self)
    else { return nil }
    return Lane(tree: info.id, identity: identity)
  }

  /// Moves a record's bytes to the reports and removes it.
  func moveToReports(
    _ space: Space, _ key: Bytes, _ kind: Incident.Kind, _ words: String? = nil
  ) throws(StoreError) {
    let bytes = try tx.value(space, key) ?? []
    let kept = kind == .cacheRangeDropped ? Bytes(bytes.prefix(Incidents.maximumCacheBytes)) : bytes
    let order = try Trees.info(tx, StoreKey.tree(key))?.order
    let place = words ?? RecordName.words(space, key, order)
    try Incidents.add(
      tx, Incident(kind: kind, tree: StoreKey.tree(key), place: place, bytes: kept))
    try tx.delete(space, key)
  }

  // MARK: Cache

  /// The largest range of path keys in which a run's leaves may lie.
  func range(_ storeKey: Bytes) throws(StoreError) -> PruneRanges.KeyRange {
    let next = try tx.first(Spaces.runs, atOrAfter: storeKey + [0])
    guard let next, next.key.starts(with: storeKey.prefix(4)) else {
      return PruneRanges.KeyRange(low: bounds(storeKey).low, high: [PathKey.endMark])
    }
    return PruneRanges.KeyRange(low: bounds(storeKey).low, high: bounds(next.key).high)
  }

  /// The range of path keys in which a run begins, according to its key: a cut key only says that
  /// the run begins among the keys with the cut separator.
  private func bounds(_ storeKey: Bytes) -> (low: Bytes, high: Bytes) {
    let separator = Bytes(storeKey.dropFirst(4))
    let cutLength = tx.leaves.cutLength
    guard separator.count >= cutLength else { return (separator, separator) }
    let cut = Bytes(separator.prefix(cutLength))
    return (cut, StoreKey.end(of: cut) ?? [PathKey.endMark])
  }

  func words(_ key: Bytes, _ order: KeyOrder) -> String {
    "\(RecordName.path(key[...], order)) and after"
  }

  /// Marks the queries that need data of some key ranges as incomplete, including those of which
  /// only some keys are known.
  func markIncomplete(
    _ ranges: [PruneRanges.KeyRange], _ info: TreeInfo
  ) throws(StoreError) {
    let editor = QueryEditor(tx, info)
    try editor.queries.forEach { (stored) throws(StoreError) in
      let key = PathKey.encode(stored.query.path, info.order)
      let end = key + [PathKey.endMark]
      guard ranges.contains(where: { bytesPrecede(key, $0.high) && bytesPrecede($0.low, end) })
      else { return }
      try markIncomplete(stored.query, stored.id, editor)
    }
  }

  /// Marks a query as incomplete, so that all of it is fetched again: without the token, by which a
  /// server would leave out what it sent before, and without the keys whose nodes were known.
  func markIncomplete(
    _ query: TrackedQuery, _ id: QueryID, _ editor: QueryEditor
  ) throws(StoreError) {
    var query = query
    query.isComplete = false
    query.isKnownMissing = false
    query.resumeToken = []
    // It is stored under its number even if the index is damaged.
    try editor.put(query, id, isNew: false)
    // The documents that it matches stay covered, since covering too many costs less than losing
    // the others.
    if editor.queries.order != .documents {
      try tx.deleteAll(Spaces.queryKeys, prefix: editor.queries.key(id))
    }
    try MatchesVersions(tx: tx, tree: editor.queries.tree).forget(id)
  }

  // MARK: Usage

  /// Restarts the counts of a tree whose usage cannot be read, with numbers above all that may have
  /// been used; mending counts again later.
  func loseUsage(_ tree: TreeID) throws(StoreError) {
    let known = try undamaged { () throws(StoreError) in try UsageRow.read(tx, tree) }
    guard known == nil else { return }
    // Versions of matches are removed: without usage, the change log that they need would not be
    // maintained.
    try tx.deleteAll(Spaces.changes, prefix: StoreKey.prefix(tree), isCounted: false)
    let prefix = StoreKey.prefix(tree)
    var row = UsageRow()
    row.nextRun = Numbers.runsAfterLoss()
    if let key = try tx.lastKey(Spaces.dictionaries, prefix, atOrBefore: prefix + [0xFF]) {
      // Dropped dictionaries may have had higher numbers, and no number may repeat.
      let number = min(DictionaryRecord.number(key), Numbers.lastDictionary)
      row.nextDictionary = min(number, Numbers.lastDictionary - 1 << 10) + 1 << 10
    } else {
      row.nextDictionary = 1 << 10
    }
    tx.setUsage(tree, row)
    try MendingMarker.add(tx, tree)
  }
}
