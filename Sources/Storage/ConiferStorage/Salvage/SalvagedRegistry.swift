import ConiferKeyValue
import ConiferLeafStore

/// Makes rows that came out of a damaged store one that can be opened: a format record, and a
/// registry in which every tree of which there are records has a name.
enum SalvagedRegistry {
  /// Mends what cannot be read.
  ///
  /// - Returns: what was mended, in words; the names of lost trees were made up.
  /// - Throws: `newerFormat`, `io`, and what the store throws.
  static func mend(_ store: any OrderedStore) throws(StoreError) -> [String] {
    let view = try store.view()
    defer { view.close() }
    let zero = StoreKey.prefix(TreeID(rawValue: 0))
    func record(_ name: String, _ rest: Bytes = []) -> Bytes { zero + Bytes(name.utf8) + rest }
    func payload(_ key: Bytes) throws(StoreError) -> Bytes? {
      do throws(StoreError) {
        return try view.value(Spaces.system, key).flatMap { Record.open(Spaces.system, key, $0) }
      } catch {
        // What an encrypted record was cannot be told.
        guard error.code == .damaged else { throw error }
        return nil
      }
    }
    var words: [String] = []
    var batch = Batch()
    func put(_ key: Bytes, _ payload: Bytes) {
      batch.put(Spaces.system, key, Record.seal(Spaces.system, key, payload))
    }
    // Names that still tell their tree's number.
    var names: [UInt32: Bytes] = [:]
    for key in try view.keys(Spaces.system, prefix: zero) {
      let payload = try payload(key)
      // Nothing that is left of the rest of them depends on one.
      if payload == nil { batch.delete(Spaces.system, key) }
      guard key.starts(with: record("m")) else { continue }
      guard let payload, payload.count == 4 else {
        batch.delete(Spaces.system, key)
        continue
      }
      names[StoreKey.tree(payload).rawValue] = Bytes(key.dropFirst(5))
    }
    if try payload(record("f")) == nil {
      var writer = ByteWriter()
      writer.varint(Trees.format)
      put(record("f"), writer.bytes)
      words.append("the format record was lost")
    }
    let trees = try trees(view)
    for tree in trees.sorted() {
      let key = record("t", StoreKey.prefix(tree))
      var reader = ByteReader(try payload(key) ?? [])
      if reader.byte() != nil, let name = reader.text() {
        if names[tree.rawValue] != Bytes(name.utf8) {
          put(record("m", Bytes(name.utf8)), StoreKey.prefix(tree))
        }
        continue
      }
      let known = names[tree.rawValue].flatMap { String(validating: $0, as: UTF8.self) }
      let name = known ?? "salvaged-\(tree.rawValue)"
      var writer = ByteWriter()
      writer.byte(KeyOrder.realtimeDatabase.rawValue)
      writer.sized(name)
      put(key, writer.bytes)
      put(record("m", Bytes(name.utf8)), StoreKey.prefix(tree))
      words.append("what tree \(tree.rawValue) was is lost; it is \"\(name)\" now")
    }
    if let highest = trees.max(), try payload(record("n")) == nil {
      var writer = ByteWriter()
      writer.varint(UInt64(highest.rawValue) + 1)
      put(record("n"), writer.bytes)
    }
    if !batch.isEmpty { _ = try store.apply(batch, .process) }
    return words
  }

  /// The trees of which there are records, or an entry in the registry.
  private static func trees(_ view: any OrderedView) throws(StoreError) -> Set<TreeID> {
    var trees: Set<TreeID> = []
    for space in Spaces.all where space != Spaces.system {
      try view.walkKeys(space, .atOrAfter([])) { key, _ in
        let prefix = Bytes(key.extracting(first: min(4, key.byteCount)))
        guard prefix.count == 4, let end = StoreKey.end(of: prefix) else { return .next }
        trees.insert(StoreKey.tree(prefix))
        return .jump(end)
      }
    }
    let registry = StoreKey.prefix(TreeID(rawValue: 0)) + Bytes("t".utf8)
    for key in try view.keys(Spaces.system, prefix: registry) where key.count == 9 {
      trees.insert(StoreKey.tree(Bytes(key.dropFirst(5))))
    }
    trees.remove(TreeID(rawValue: 0))
    return trees
  }
}
