import ConiferKeyValue
import ConiferTree

/// Sets damaged records aside, so that all others can be used; runs in a commit of its own.
struct Repair {
  let tx: Transaction
  let codec: Codec
  let longestKey: Int
  let shape: RunShape

  init(_ tx: Transaction, codec: Codec, longestKey: Int, shape: RunShape) {
    self.tx = tx
    self.codec = codec
    self.longestKey = longestKey
    self.shape = shape
  }

  /// Sets a record aside and mends what refers to it.
  ///
  /// - Throws: `damaged` when the record is one that the store cannot do without.
  func setAside(_ place: StoreError.Place) throws(StoreError) {
    guard let space = Spaces.all.first(where: { $0.id == place.space }), place.key.count >= 4,
      space != Spaces.system
    else { throw Damage.error(Space(id: place.space, shape: .rows), place.key) }
    let tree = StoreKey.tree(place.key)
    if space == Spaces.usage { return try recount(tree) }
    let info = try Trees.known(tx, tree)
    guard try isDamaged(space, place.key, info) else { return }
    if [Spaces.runs, Spaces.deltas, Spaces.parts, Spaces.dictionaries].contains(space) {
      try restartIndexes(tree)
    }
    switch space {
    case Spaces.runs: try dropRun(place.key, info)
    case Spaces.deltas: try dropDelta(place.key, info)
    case Spaces.parts: try dropLargeLeaf(place.key, info)
    case Spaces.dictionaries: try dropDictionary(place.key, info)
    case Spaces.queue: try setWriteAside(place.key, info)
    case Spaces.queries: try dropQuery(place.key, info)
    case Spaces.queryIndex: try rebuildQueryIndex(info)
    case Spaces.queryKeys: try dropTrackedKey(place.key, info)
    case Spaces.finished: try setFinishedAside(place.key, info)
    case Spaces.indexes: try dropIndex(place.key, info)
    default: try keep(space, place.key, .recordSetAside)
    }
    try recount(tree)
  }

  /// Whether a record is still damaged: it may have been set aside and written anew since the read
  /// that met it.
  private func isDamaged(
    _ space: Space, _ key: Bytes, _ info: TreeInfo
  ) throws(StoreError) -> Bool {
    // A large leaf may lack parts, which shows at the whole alone.
    if space == Spaces.parts { return true }
    let stored = try tx.value(space, key)
    if space == Spaces.dictionaries { return try isDictionaryDamaged(key, stored, info) }
    if space == Spaces.indexes { return try isIndexDamaged(key, stored, info) }
    guard let value = stored else { return false }
    guard Record.isIntact(space, key, value) else { return true }
    do throws(StoreError) {
      switch space {
      case Spaces.runs:
        let reader = RunReader(view: tx, tree: info.id, codec: codec, longestKey: longestKey)
        return try reader.entries(RunHead(storeKey: key, value: value)).contains {
          LeafCodec.decode($0.value) == nil || PathKey.path($0.key, info.order) == nil
        }
      case Spaces.queue:
        guard let lane = Self.lane(key, info) else { return true }
        let reader = try QueueReader(tx, lane, info.order, codec)
        if key == reader.totalsKey { return LaneTotals(Bytes(value[Record.overhead...])) == nil }
        _ = try reader.find(WriteID(rawValue: IndexKey.number(key)))
        return false
      case Spaces.deltas:
        _ = try DeltaRecord(key: key, value: value, source(info.id))
        return false
      default: return false
      }
    } catch {
      // What an intact record cannot be read without is set aside first, and may take it along.
      guard error.code == .damaged, error.place?.space != Spaces.dictionaries.id else {
        throw error
      }
      return true
    }
  }

  /// Where the bodies of a tree's runs and deltas are unpacked.
  func source(_ tree: TreeID) -> DictionarySource {
    DictionarySource(view: tx, tree: tree, codec: codec)
  }

  /// The lane that a key of the queue belongs to.
  private static func lane(_ key: Bytes, _ info: TreeInfo) -> Lane? {
    guard let end = key[4...].firstIndex(of: 0),
      let identity = String(validating: key[4..<end], as: UTF8.self)
    else { return nil }
    return Lane(tree: info.id, identity: identity)
  }

  /// Moves a record's bytes to the reports and removes it.
  func keep(
    _ space: Space, _ key: Bytes, _ kind: Incident.Kind, _ words: String? = nil
  ) throws(StoreError) {
    let bytes = try tx.value(space, key) ?? []
    let kept = kind == .cacheRangeDropped ? Bytes(bytes.prefix(Incidents.keptOfCache)) : bytes
    let order = try Trees.info(tx, StoreKey.tree(key))?.order
    let place = words ?? PlaceName.words(space, key, order)
    try Incidents.add(
      tx, Incident(kind: kind, tree: StoreKey.tree(key), place: place, bytes: kept))
    try tx.delete(space, key)
  }

  // MARK: Cache

  func dropRun(_ storeKey: Bytes, _ info: TreeInfo) throws(StoreError) {
    let (low, high) = try range(storeKey)
    try keep(Spaces.runs, storeKey, .cacheRangeDropped, words(low, info.order))
    try dropOrphans(info.id)
    try markIncomplete(low, high, info)
  }

  /// Between what path keys the leaves of a run lie, at most.
  func range(_ storeKey: Bytes) throws(StoreError) -> (low: Bytes, high: Bytes) {
    let next = try tx.first(Spaces.runs, atOrAfter: storeKey + [0])
    guard let next, next.key.starts(with: storeKey.prefix(4)) else {
      return (bounds(storeKey).low, [PathKey.endMark])
    }
    return (bounds(storeKey).low, bounds(next.key).high)
  }

  /// Between what path keys a run begins, as far as its key tells: a cut one only tells that the
  /// run begins among the keys that share the cut separator.
  private func bounds(_ storeKey: Bytes) -> (low: Bytes, high: Bytes) {
    let separator = Bytes(storeKey.dropFirst(4))
    let reader = RunReader(
      view: tx, tree: StoreKey.tree(storeKey), codec: codec, longestKey: longestKey)
    guard separator.count >= reader.cutLength else { return (separator, separator) }
    let cut = Bytes(separator.prefix(reader.cutLength))
    return (cut, StoreKey.end(of: cut) ?? [PathKey.endMark])
  }

  private func dropDelta(_ key: Bytes, _ info: TreeInfo) throws(StoreError) {
    let number = IndexKey.number(Bytes(key.prefix(12)))
    try keep(Spaces.deltas, key, .cacheRangeDropped)
    let runs = try tx.keys(Spaces.runs, prefix: StoreKey.prefix(info.id))
    for storeKey in runs {
      guard let value = try tx.value(Spaces.runs, storeKey) else { continue }
      if try RunHead(storeKey: storeKey, value: value).number == number {
        return try dropRun(storeKey, info)
      }
    }
    try dropOrphans(info.id)
  }

  private func dropLargeLeaf(_ key: Bytes, _ info: TreeInfo) throws(StoreError) {
    let number = IndexKey.number(Bytes(key.prefix(12)))
    let editor = RunEditor(tx, info.id, codec: codec, longestKey: longestKey, shape: shape)
    var at: Bytes = []
    while let entry = try editor.firstEntry(atOrAfter: at) {
      if LargeLeaf.number(entry) == number {
        let bytes = try tx.value(Spaces.parts, key) ?? []
        try Incidents.add(
          tx,
          Incident(
            kind: .cacheRangeDropped, tree: info.id, place: words(entry.key, info.order),
            bytes: Bytes(bytes.prefix(Incidents.keptOfCache))))
        try editor.delete(entry.key)
        try editor.flush()
        return try markIncomplete(entry.key, entry.key + [PathKey.endMark], info)
      }
      at = entry.key + [0]
    }
    try tx.deleteAll(Spaces.parts, prefix: Bytes(key.prefix(12)))
  }

  private func words(_ key: Bytes, _ order: KeyOrder) -> String {
    "\(PlaceName.path(key[...], order)) and after"
  }

  /// Removes deltas and parts that no run refers to any more.
  func dropOrphans(_ tree: TreeID) throws(StoreError) {
    var runs: Set<UInt64> = []
    var parts: Set<UInt64> = []
    for storeKey in try tx.keys(Spaces.runs, prefix: StoreKey.prefix(tree)) {
      guard let value = try tx.value(Spaces.runs, storeKey),
        Record.isIntact(Spaces.runs, storeKey, value)
      else { return }
      let head = try RunHead(storeKey: storeKey, value: value)
      runs.insert(head.number)
      guard head.flags & RunHead.hasExternals != 0 else { continue }
      let reader = RunReader(view: tx, tree: tree, codec: codec, longestKey: longestKey)
      parts.formUnion(try reader.entries(head).compactMap(LargeLeaf.number))
    }
    for (key, value) in try tx.entries(Spaces.deltas, prefix: StoreKey.prefix(tree)) {
      let number = IndexKey.number(Bytes(key.prefix(12)))
      guard runs.contains(number) else {
        try tx.delete(Spaces.deltas, key)
        continue
      }
      // A delta may refer to parts; one that is damaged is dealt with when it is read.
      guard let delta = try? DeltaRecord(key: key, value: value, source(tree)) else { return }
      for case .put(let entry) in delta.changes {
        if let number = LargeLeaf.number(entry) { parts.insert(number) }
      }
    }
    for key in try tx.keys(Spaces.parts, prefix: StoreKey.prefix(tree)) {
      if !parts.contains(IndexKey.number(Bytes(key.prefix(12)))) {
        try tx.delete(Spaces.parts, key)
      }
    }
  }

  /// Marks the queries that need a key range as incomplete, also those of which some keys only are
  /// known.
  func markIncomplete(_ low: Bytes, _ high: Bytes, _ info: TreeInfo) throws(StoreError) {
    let editor = QueryEditor(tx, info)
    for stored in try editor.queries.window(after: nil, limit: .max) {
      let key = PathKey.encode(stored.query.path, info.order)
      let isTouched = bytesPrecede(key, high) && bytesPrecede(low, key + [PathKey.endMark])
      guard isTouched else { continue }
      try forget(stored.query, stored.id, editor)
    }
  }

  /// Makes a query one that must be fetched whole: without the token, by which a server would leave
  /// out what it sent before, and without the keys whose nodes were known.
  func forget(
    _ query: TrackedQuery, _ id: QueryID, _ editor: QueryEditor
  ) throws(StoreError) {
    var query = query
    query.isComplete = false
    query.isKnownMissing = false
    query.resumeToken = []
    _ = try editor.save(query)
    try tx.deleteAll(Spaces.queryKeys, prefix: editor.queries.key(id))
  }

  // MARK: Queries

  private func dropQuery(_ key: Bytes, _ info: TreeInfo) throws(StoreError) {
    try keep(Spaces.queries, key, .recordSetAside)
    if key.count == 12 {
      try tx.deleteAll(Spaces.queryKeys, prefix: key)
    } else {
      try QueryEditor(tx, info).skipNumbers()
    }
    try rebuildQueryIndex(info)
  }

  private func dropTrackedKey(_ key: Bytes, _ info: TreeInfo) throws(StoreError) {
    try keep(Spaces.queryKeys, key, .recordSetAside)
    let editor = QueryEditor(tx, info)
    let id = QueryID(rawValue: IndexKey.number(Bytes(key.prefix(12))))
    guard let query = try editor.queries.query(id) else { return }
    try forget(query, id, editor)
  }

  func rebuildQueryIndex(_ info: TreeInfo) throws(StoreError) {
    try tx.deleteAll(Spaces.queryIndex, prefix: StoreKey.prefix(info.id))
    let queries = Queries(view: tx, tree: info.id, order: info.order)
    for stored in try queries.window(after: nil, limit: .max) {
      try tx.put(
        Spaces.queryIndex, queries.indexKey(stored.query.path, stored.query.parameters),
        payload: StoreKey.number(stored.id.rawValue))
    }
  }

  // MARK: Queue

  private func setWriteAside(_ key: Bytes, _ info: TreeInfo) throws(StoreError) {
    guard let lane = Self.lane(key, info) else {
      return try keep(Spaces.queue, key, .recordSetAside)
    }
    let reader = try QueueReader(tx, lane, info.order, codec)
    if key == reader.totalsKey { return try recountLane(reader, newestIsLost: true) }
    let id = WriteID(rawValue: IndexKey.number(key))
    let parts = try tx.entries(Spaces.queueParts, prefix: reader.numbered(id))
    let bytes = (try tx.value(Spaces.queue, key) ?? []) + parts.flatMap(\.value)
    try Incidents.add(
      tx,
      Incident(
        kind: .writeSetAside, tree: info.id, place: "write \(id.rawValue) of \"\(lane.identity)\"",
        bytes: bytes))
    try tx.delete(Spaces.queue, key)
    for (key, _) in parts { try tx.delete(Spaces.queueParts, key) }
    for row in try tx.keys(Spaces.queueIndex, prefix: reader.indexPrefix)
    where IndexKey.number(row) == id.rawValue {
      try tx.delete(Spaces.queueIndex, row)
    }
    try recountLane(reader, newestIsLost: false)
  }

  private func setFinishedAside(_ key: Bytes, _ info: TreeInfo) throws(StoreError) {
    try keep(Spaces.finished, key, .recordSetAside)
    guard let lane = Self.lane(key, info) else { return }
    try recountLane(try QueueReader(tx, lane, info.order, codec), newestIsLost: false)
  }

  func recountLane(_ reader: QueueReader, newestIsLost: Bool) throws(StoreError) {
    var totals = LaneTotals()
    var newest: UInt64 = newestIsLost ? 0 : try reader.totals().newest
    for kind in [QueueReader.Class.waiting, .rejected] {
      for (key, value) in try tx.entries(Spaces.queue, prefix: reader.prefix + [kind.rawValue]) {
        if kind == .waiting { totals.pending += 1 } else { totals.rejected += 1 }
        totals.bytes += key.count + value.count
        newest = max(newest, IndexKey.number(key))
      }
    }
    for (key, value) in try tx.entries(Spaces.queueParts, prefix: reader.prefix) {
      totals.bytes += key.count + value.count
    }
    for key in try tx.keys(Spaces.finished, prefix: reader.prefix) {
      totals.finished += 1
      newest = max(newest, IndexKey.number(key))
    }
    // Far above every number in use, so that none repeats.
    newest = min(newest, 1 << 59)
    totals.newest = newestIsLost ? newest + 1 << 20 : newest
    try tx.put(Spaces.queue, reader.totalsKey, payload: totals.payload)
  }

  // MARK: Usage

  /// Counts what a tree's records take anew, by a scan.
  func recount(_ tree: TreeID) throws(StoreError) {
    let prefix = StoreKey.prefix(tree)
    var row = UsageRow()
    let known = try? UsageRow.read(tx, tree)
    if let known { row.nextRun = known.nextRun }
    var named: UInt32 = 0
    for space in Spaces.all where space != Spaces.usage {
      for (key, size) in try tx.sizes(space, prefix: prefix) {
        row.bytes[space.id, default: 0] += 1 + key.count + size
        if space == Spaces.queries, key.count == 12 { row.queries += 1 }
        // Deltas may stand for a run that cannot be read: its number is not given again.
        if space == Spaces.deltas, known == nil {
          let number = IndexKey.number(Bytes(key.prefix(12)))
          if number < 1 << 43 { row.nextRun = max(row.nextRun, number + 1) }
        }
      }
    }
    for space in [Spaces.runs, Spaces.deltas, Spaces.parts] {
      for (key, value) in try tx.entries(space, prefix: prefix) {
        guard Record.isIntact(space, key, value) else { continue }
        switch space {
        case Spaces.runs:
          let head = try RunHead(storeKey: key, value: value)
          row.leaves += head.count
          row.raw.runs += head.rawCount
          row.nextRun = max(row.nextRun, head.number + 1)
          named = max(named, head.dictionary)
        case Spaces.deltas:
          let delta = try DeltaRecord.Head(key: key, value: value)
          row.leaves += delta.leaves
          row.raw.deltas += delta.rawCount
          named = max(named, delta.dictionary)
        case Spaces.parts:
          var reader = ByteReader(value, from: Record.overhead + 1)
          row.raw.largeLeaves += reader.size() ?? 0
        default: break
        }
      }
    }
    try recountDictionaries(tree, known, named: named, &row)
    tx.setUsage(tree, row)
  }
}
