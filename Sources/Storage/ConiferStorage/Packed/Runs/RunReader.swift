import ConiferKeyValue

/// Finds and reads the runs of one tree in a view, merged with their deltas.
struct RunReader {
  let view: any OrderedView
  let tree: TreeID
  let codec: Codec
  /// How long the store's keys may be, without the space byte.
  let longestKey: Int

  /// Separators from this length on are cut, and told apart by an ordinal of eight bytes.
  var cutLength: Int { longestKey == .max ? .max : longestKey - 4 - 8 }

  /// Where the bodies of runs and deltas are unpacked.
  var source: DictionarySource { DictionarySource(view: view, tree: tree, codec: codec) }

  /// The head of a run; of a damaged one as much as its key tells, so that the runs around it can be
  /// used. Reading its entries throws.
  private func head(_ storeKey: Bytes, _ value: Bytes) throws(StoreError) -> RunHead {
    do throws(StoreError) {
      return try RunHead(storeKey: storeKey, value: value)
    } catch {
      guard error.code == .damaged, storeKey.count - 4 < cutLength else { throw error }
      return RunHead(damaged: storeKey)
    }
  }

  /// The run that a path key belongs to, or nil when all runs begin behind it.
  func run(covering key: Bytes) throws(StoreError) -> RunHead? {
    let prefix = StoreKey.prefix(tree)
    var probe = prefix
    if key.count >= cutLength {
      probe += key.prefix(cutLength) + Bytes(repeating: 0xFF, count: 8)
    } else {
      probe += key
    }
    var found = try view.last(Spaces.runs, atOrBefore: probe)
    while let (storeKey, value) = found, storeKey.starts(with: prefix) {
      let head = try head(storeKey, value)
      // Runs with one cut separator are told apart by the whole one inside.
      if !head.isCut || compareBytes(head.separator, key) <= 0 { return head }
      found = try before(storeKey)
    }
    return nil
  }

  /// The first run that may hold a path key or a later one.
  func run(coveringOrAfter key: Bytes) throws(StoreError) -> RunHead? {
    if let head = try run(covering: key) { return head }
    return try run(after: nil)
  }

  /// The run after a key of the store, or the tree's first.
  func run(after storeKey: Bytes?) throws(StoreError) -> RunHead? {
    let prefix = StoreKey.prefix(tree)
    guard
      let (key, value) = try view.first(
        Spaces.runs, atOrAfter: storeKey.map { $0 + [0] } ?? prefix),
      key.starts(with: prefix)
    else { return nil }
    return try head(key, value)
  }

  /// The run before a key of the store, or the tree's last.
  func run(before storeKey: Bytes?) throws(StoreError) -> RunHead? {
    let prefix = StoreKey.prefix(tree)
    let found: (key: Bytes, value: Bytes)?
    if let storeKey {
      found = try before(storeKey)
    } else {
      found = try view.last(Spaces.runs, atOrBefore: prefix + Bytes(repeating: 0xFF, count: 16))
    }
    guard let (key, value) = found, key.starts(with: prefix) else { return nil }
    return try head(key, value)
  }

  private func before(_ storeKey: Bytes) throws(StoreError) -> (key: Bytes, value: Bytes)? {
    var found: (key: Bytes, value: Bytes)?
    try view.walk(Spaces.runs, .atOrBefore(storeKey)) { key, value in
      if key.compare(storeKey) == 0 { return .next }
      found = (Bytes(key), Bytes(value))
      return .stop
    }
    return found
  }

  /// The deltas of a run, oldest first, with their keys and stored sizes.
  func deltas(_ number: UInt64) throws(StoreError) -> [(key: Bytes, size: Int, delta: DeltaRecord)]
  {
    var deltas: [(key: Bytes, size: Int, delta: DeltaRecord)] = []
    for (key, value) in try view.entries(Spaces.deltas, prefix: DeltaRecord.prefix(tree, number)) {
      let delta = try DeltaRecord(key: key, value: value, source)
      deltas.append((key, value.count, delta))
    }
    return deltas
  }

  /// The entries of a run without its deltas.
  func entries(_ head: RunHead) throws(StoreError) -> EntryList {
    let entries = try head.withCursor(source) { EntryList(&$0, size: head.rawCount) }
    guard let entries else { throw Damage.error(Spaces.runs, head.storeKey) }
    return entries
  }

  /// The entries of a run with its deltas.
  func merged(_ head: RunHead) throws(StoreError) -> EntryList {
    let changes = try deltas(head.number).flatMap(\.delta.changes)
    return try entries(head).merged(changes)
  }

  /// The leaf of an entry's value, put together when it is stored in parts.
  ///
  /// - Throws: `damaged`.
  func leaf(_ decoded: LeafCodec.Decoded) throws(StoreError) -> LeafCodec.Decoded {
    guard case .external(let number, let count, let priority) = decoded else { return decoded }
    let content = try LargeLeaf.read(self, number, count)
    guard case .leaf(let leaf, _) = LeafCodec.decode(content) else {
      throw Damage.error(Spaces.parts, LargeLeaf.prefix(tree, number))
    }
    return .leaf(leaf, priority)
  }
}
