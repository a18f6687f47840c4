import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// The collections of one tree with stored documents, in rows by id: a query of a group reads the
/// rows of its id.
///
/// Key: the tree, then the collection's id and its path, each as a segment of a path key; a long
/// key is cut and ends in a hash. Payload: empty, or the full key if it was cut.
struct CollectionRows {
  /// How many bytes of id and path a row holds.
  static let longestKey = 200
  /// How many rows are read at once.
  private static let window = 256

  let view: any OrderedView
  let tree: TreeID

  private var prefix: Bytes { StoreKey.prefix(tree) }

  /// The row of a collection.
  func key(_ collection: CollectionPath) -> Bytes { key(Self.name(collection)) }

  private func key(_ name: Bytes) -> Bytes {
    guard name.count > Self.longestKey else { return prefix + name }
    return prefix + name.prefix(Self.longestKey) + StoreKey.number(XXHash64.hash(name))
  }

  /// What a row is sorted by.
  private static func name(_ collection: CollectionPath) -> Bytes {
    segment(collection.id) + DocumentKey.encode(collection)
  }

  private static func segment(_ id: String) -> Bytes { PathKey.encode(Path([Key(id)]), .documents) }

  /// The collection of a row.
  ///
  /// - Throws: `damaged`, naming the row, when it is none.
  func collection(_ key: Bytes, _ value: Bytes) throws(StoreError) -> CollectionPath {
    func damage() -> StoreError { Damage.error(Spaces.collections, key) }
    guard let payload = Record.open(Spaces.collections, key, value) else { throw damage() }
    let name = payload.isEmpty ? Bytes(key.dropFirst(4)) : payload
    guard let path = PathKey.path(name, .documents), path.count == 2,
      let collection = DocumentKey.collection(path.keys[1].string),
      self.key(collection) == key, payload.isEmpty == (name.count <= Self.longestKey)
    else { throw damage() }
    return collection
  }

  /// The next collections with an id, in the order of path keys; none at the end.
  ///
  /// - Parameter start: the prefix of the path keys of a collection's documents, or a key after
  ///   these.
  func collections(
    withID id: String, from start: Bytes
  ) throws(StoreError) -> [CollectionPath] {
    let segment = Self.segment(id)
    let rows = prefix + segment.prefix(Self.longestKey)
    var found: [(name: Bytes, collection: CollectionPath)] = []
    var after: Bytes?
    let first = prefix + (segment + start).prefix(Self.longestKey)
    // Cut rows are ordered by the hash at their end, so rows that share the cut prefix are read
    // together.
    while true {
      let origin = after.map { $0 + [0] } ?? first
      let some = try window(origin, rows)
      for (key, value) in some {
        if found.count >= Self.window, let after, !Self.isTied(after, key) { return sorted(found) }
        after = key
        let collection = try collection(key, value)
        let name = DocumentKey.encode(collection)
        if collection.id.utf8.elementsEqual(id.utf8), !bytesPrecede(name, start) {
          found.append((name, collection))
        }
      }
      if some.isEmpty { return sorted(found) }
    }
  }

  private func window(
    _ origin: Bytes, _ rows: Bytes
  ) throws(StoreError) -> [(key: Bytes, value: Bytes)] {
    var some: [(key: Bytes, value: Bytes)] = []
    try view.walk(Spaces.collections, .atOrAfter(origin)) { key, value in
      guard key.starts(with: rows) else { return .stop }
      some.append((Bytes(key), Bytes(value)))
      return some.count < Self.window ? .next : .stop
    }
    return some
  }

  private static func isTied(_ a: Bytes, _ b: Bytes) -> Bool {
    a.prefix(4 + longestKey) == b.prefix(4 + longestKey)
  }

  private func sorted(
    _ found: [(name: Bytes, collection: CollectionPath)]
  ) -> [CollectionPath] {
    found.sorted { bytesPrecede($0.name, $1.name) }.map(\.collection)
  }
}

extension CollectionRows {
  /// Writes the row of a collection, or removes it.
  static func set(
    _ collection: CollectionPath, isThere: Bool, in tree: TreeID, _ tx: LeafTransaction
  ) throws(StoreError) {
    let key = CollectionRows(view: tx, tree: tree).key(collection)
    guard isThere else { return try tx.delete(Spaces.collections, key) }
    let name = name(collection)
    try tx.put(Spaces.collections, key, payload: name.count > longestKey ? name : [])
  }
}
