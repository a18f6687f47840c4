import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Reads the tracked queries of one tree.
struct Queries {
  let view: any OrderedView
  let tree: TreeID
  let order: KeyOrder

  var prefix: Bytes { StoreKey.prefix(tree) }

  func key(_ id: QueryID) -> Bytes { prefix + StoreKey.number(id.rawValue) }

  /// The row of a query in the index by path; it ends with a hash of the query's path and
  /// parameters.
  func indexKey(_ path: Path, _ parameters: String) -> Bytes {
    let hash = Self.hash(PathKey.encode(path, order), parameters)
    return IndexKey.row(prefix, path, order, hash)
  }

  /// A hash of a query's path and parameters.
  static func hash(_ path: Bytes, _ parameters: String) -> UInt64 {
    XXHash64.hash(Bytes(parameters.utf8), seed: XXHash64.hash(path))
  }

  /// The number that is stored in a row of the index.
  func number(_ key: Bytes, _ value: Bytes) throws(StoreError) -> QueryID {
    guard let payload = Record.open(Spaces.queryIndex, key, value), payload.count == 8 else {
      throw Damage.error(Spaces.queryIndex, key)
    }
    return QueryID(rawValue: StoreKey.number(atEndOf: payload))
  }

  static func payload(_ query: TrackedQuery) -> Bytes {
    var writer = ByteWriter()
    NodeCodec.append(query.path, to: &writer)
    writer.sized(query.parameters)
    writer.byte((query.isComplete ? 1 : 0) | (query.isKnownMissing ? 2 : 0))
    writer.varint(query.lastUse)
    writer.sized(query.resumeToken)
    return writer.bytes
  }

  private func query(_ key: Bytes, _ value: Bytes) throws(StoreError) -> TrackedQuery {
    // A function, since composing the message takes longer than reading the record.
    func damage() -> StoreError { Damage.error(Spaces.queries, key) }
    guard (1...Numbers.lastQuery).contains(StoreKey.number(atEndOf: key)) else { throw damage() }
    guard let payload = Record.open(Spaces.queries, key, value) else { throw damage() }
    var reader = ByteReader(payload)
    guard let path = NodeCodec.path(&reader), let parameters = reader.text(),
      let flags = reader.byte(), let lastUse = reader.varint(), let token = reader.sized()
    else { throw damage() }
    return TrackedQuery(
      tree: tree, path: path, parameters: parameters, isComplete: flags & 1 != 0,
      lastUse: lastUse, isKnownMissing: flags & 2 != 0, resumeToken: token)
  }

  func query(_ id: QueryID) throws(StoreError) -> TrackedQuery? {
    let key = key(id)
    guard let value = try view.value(Spaces.queries, key) else { return nil }
    return try query(key, value)
  }

  func find(_ path: Path, _ parameters: String) throws(StoreError) -> StoredQuery? {
    let row = indexKey(path, parameters)
    guard let value = try view.value(Spaces.queryIndex, row) else { return nil }
    let id = try number(row, value)
    guard let query = try query(id), query.path == path,
      query.parameters.utf8.elementsEqual(parameters.utf8)
    else {
      return nil
    }
    return StoredQuery(id: id, query: query)
  }

  /// The queries at exactly a path.
  func at(_ path: Path) throws(StoreError) -> [StoredQuery] {
    try indexed(IndexKey.exact(prefix, path, order)) { $0 == path }
  }

  /// The queries below a path.
  func below(_ path: Path) throws(StoreError) -> [StoredQuery] {
    try indexed(prefix + IndexKey.path(path, order)) { path.contains($0) && $0 != path }
  }

  private func indexed(
    _ rows: Bytes, _ isWanted: (Path) -> Bool
  ) throws(StoreError) -> [StoredQuery] {
    var found: [StoredQuery] = []
    for (row, value) in try view.entries(Spaces.queryIndex, prefix: rows) {
      let id = try number(row, value)
      if let query = try query(id), isWanted(query.path) {
        found.append(StoredQuery(id: id, query: query))
      }
    }
    return found.sorted { $0.id < $1.id }
  }

  /// A window of the queries, by number.
  func window(after: QueryID?, limit: Int) throws(StoreError) -> [StoredQuery] {
    let start = after.map { key($0) }
    var found: [StoredQuery] = []
    for (key, value) in try view.entries(
      Spaces.queries, prefix: prefix, after: start, limit: max(0, min(limit, .max - 1)))
    where key.count == 12 {
      found.append(
        StoredQuery(
          id: QueryID(rawValue: StoreKey.number(atEndOf: key)), query: try query(key, value)))
    }
    return found
  }

  /// Visits all queries by number, a window at a time; the closure may change them.
  func forEach(_ visit: (StoredQuery) throws(StoreError) -> Void) throws(StoreError) {
    var after: QueryID?
    while true {
      let some = try window(after: after, limit: 256)
      for stored in some { try visit(stored) }
      guard let last = some.last?.id else { return }
      after = last
    }
  }

  /// The row after all queries, which holds the last number.
  var lastKey: Bytes { prefix + [0xFF] }

  /// The last assigned number, from the row after all queries.
  ///
  /// - Throws: `damaged`, also when the row is missing although there are queries.
  func last() throws(StoreError) -> QueryID? {
    let key = lastKey
    guard let value = try view.value(Spaces.queries, key) else {
      guard try view.keys(Spaces.queries, prefix: prefix, limit: 1).isEmpty else {
        throw Damage.error(Spaces.queries, key)
      }
      return nil
    }
    guard let payload = Record.open(Spaces.queries, key, value), payload.count == 8,
      StoreKey.number(atEndOf: payload) <= Numbers.lastQuery
    else { throw Damage.error(Spaces.queries, key) }
    return QueryID(rawValue: StoreKey.number(atEndOf: payload))
  }

  /// The highest number of an existing query, 0 for none.
  func highest() throws(StoreError) -> UInt64 {
    let end = key(QueryID(rawValue: Numbers.lastQuery))
    return try view.lastKey(Spaces.queries, prefix, atOrBefore: end).map {
      StoreKey.number(atEndOf: $0)
    }
      ?? 0
  }

  // MARK: Keys

  /// The row of a key that a query holds; a long one ends in a hash.
  func keyRow(_ id: QueryID, _ key: Key) -> Bytes {
    var segment = Bytes()
    PathKey.append(key, order, to: &segment)
    return Self.row(self.key(id), segment[...])
  }

  /// The row of a child or document that a query holds, by its path key after the query's; a long
  /// one ends in a hash.
  static func row(_ prefix: Bytes, _ segment: ArraySlice<UInt8>) -> Bytes {
    guard segment.count > longestSegment else { return prefix + segment }
    return prefix + segment.prefix(longestSegment)
      + StoreKey.number(XXHash64.hash(Bytes(segment)))
  }

  /// How many bytes of a key's segment a row holds.
  static let longestSegment = 200

  /// The part of a segment that a row holds; a hash follows it when the segment is longer.
  static func cut(_ segment: Bytes) -> Bytes { Bytes(segment.prefix(longestSegment)) }

  func keys(_ id: QueryID) throws(StoreError) -> [Key] {
    var keys: [Key] = []
    var wasCut = false
    for (row, value) in try view.entries(Spaces.queryKeys, prefix: key(id)) {
      guard let payload = Record.open(Spaces.queryKeys, row, value),
        let text = String(validating: payload, as: UTF8.self)
      else { throw Damage.error(Spaces.queryKeys, row) }
      keys.append(Key(text))
      wasCut = wasCut || payload.count > 100
    }
    guard wasCut else { return keys }
    // Cut rows are ordered by a hash at their end.
    if order == .realtimeDatabase { return keys.sorted() }
    return keys.sorted { $0.string.utf8.lexicographicallyPrecedes($1.string.utf8) }
  }
}
