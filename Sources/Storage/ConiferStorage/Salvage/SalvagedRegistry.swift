import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Makes a store that can be opened from the rows of a damaged one: with a format record, and a
/// registry in which every tree with records has a name.
enum SalvagedRegistry {
  /// Repairs the registry.
  ///
  /// - Returns: a description of the repairs. Names that were lost, or that several trees claimed,
  ///   were replaced by new ones.
  /// - Throws: `newerFormat`, `io`, and what the store throws.
  static func mend(_ store: any OrderedStore) throws(StoreError) -> [String] {
    let view = try store.view()
    defer { view.close() }
    func payload(_ key: Bytes) throws(StoreError) -> Bytes? {
      do throws(StoreError) {
        return try view.value(Spaces.system, key).flatMap { Record.open(Spaces.system, key, $0) }
      } catch {
        // The kind of an encrypted record that cannot be read is not known.
        guard error.code == .damaged else { throw error }
        return nil
      }
    }
    var words: [String] = []
    var batch = Batch()
    func put(_ key: SystemKey, _ payload: Bytes) {
      batch.put(Spaces.system, key.bytes, Record.seal(Spaces.system, key.bytes, payload))
    }
    // The trees to which entries of names still point.
    var pointers: [Bytes: TreeID] = [:]
    for key in try view.keys(Spaces.system, prefix: SystemKey.prefix) {
      let payload = try payload(key)
      // A record that cannot be read is removed; what is needed of it is made again below.
      if payload == nil { batch.delete(Spaces.system, key) }
      guard case .treeName(let name) = SystemKey(key), let payload else { continue }
      if payload.count == 4 {
        pointers[name] = StoreKey.tree(payload)
      } else {
        batch.delete(Spaces.system, key)
      }
    }
    if try payload(SystemKey.format.bytes) == nil {
      var writer = ByteWriter()
      writer.varint(Trees.format)
      put(.format, writer.bytes)
      words.append("the format record was lost")
    }
    let trees = try trees(view)
    var entries: [TreeID: (order: UInt8, name: String)?] = [:]
    for tree in trees {
      var reader = ByteReader(try payload(SystemKey.tree(tree).bytes) ?? [])
      if let order = reader.byte(), let name = reader.text() {
        entries[tree] = (order, name)
      } else {
        entries[tree] = .some(nil)
      }
    }
    let names = SalvagedNames(entries.mapValues { $0?.name }, pointers)
    for (name, tree) in pointers where !names.isName(name, of: tree) {
      batch.delete(Spaces.system, SystemKey.treeName(name).bytes)
    }
    for tree in trees.sorted() {
      guard let name = names.names[tree] else { continue }
      func putEntry(_ order: UInt8) {
        var writer = ByteWriter()
        writer.byte(order)
        writer.sized(name)
        put(.tree(tree), writer.bytes)
      }
      if pointers[Bytes(name.utf8)] != tree { put(.treeName(name), StoreKey.prefix(tree)) }
      if let entry = entries[tree] ?? nil {
        guard !entry.name.utf8.elementsEqual(name.utf8) else { continue }
        putEntry(entry.order)
        words.append(
          "tree \(tree.rawValue) is \"\(name)\" now: another tree has its name, \"\(entry.name)\"")
      } else {
        let evidence = try evidence(of: tree, store, view)
        putEntry(evidence.order.rawValue)
        words.append(
          "what tree \(tree.rawValue) was is lost; it is \"\(name)\" now, with the key order "
            + "\(evidence.order), \(evidence.words)")
      }
    }
    if let highest = trees.max(), try payload(SystemKey.nextTree.bytes) == nil {
      var writer = ByteWriter()
      writer.varint(UInt64(highest.rawValue) + 1)
      put(.nextTree, writer.bytes)
    }
    if !batch.isEmpty { _ = try store.apply(batch, .process) }
    return words
  }

  /// The evidence for the order of a tree's keys.
  private enum Evidence {
    /// Records that only this order writes.
    case records(KeyOrder)
    /// In the other order, keys would hold characters that nobody has.
    case characters(KeyOrder)
    case none

    var order: KeyOrder {
      switch self {
      case .records(let order), .characters(let order): order
      case .none: .realtimeDatabase
      }
    }

    var words: String {
      switch self {
      case .records: "as its records show"
      case .characters: "as the characters of its keys suggest"
      case .none: "which was made up"
      }
    }
  }

  /// The evidence in a tree's records for its key order.
  private static func evidence(
    of tree: TreeID, _ store: any OrderedStore, _ view: any OrderedView
  ) throws(StoreError) -> Evidence {
    let prefix = StoreKey.prefix(tree)
    for space in [Spaces.overlays, Spaces.earlierOverlays, Spaces.collections] {
      if try !view.keys(space, prefix: prefix, limit: 1).isEmpty { return .records(.documents) }
    }
    let snapshot = try LeafStore(store, .none).openSnapshot()
    defer { snapshot.close() }
    let reader = RunReader(view: snapshot, tree: tree)
    var evidence = Evidence.none
    for key in try view.keys(Spaces.runs, prefix: prefix) {
      let entries = try undamaged { () throws(StoreError) in
        try reader.merged(RunHead(storeKey: key, value: view.value(Spaces.runs, key) ?? []))
      }
      guard let entries else { continue }
      for index in entries.indices {
        let key = entries.key(index)
        // A key that only one order produces shows the tree's order.
        let orders = [KeyOrder.realtimeDatabase, .utf8].filter { PathKey.isWritten(key, in: $0) }
        if orders.count == 1 { return .records(orders[0]) }
        // Most keys with characters above U+FFFF are valid in both orders, but decode to different
        // characters.
        let likely = orders.filter { hasUsualCharacters(PathKey.path(key, $0)) }
        if likely.count == 1 { evidence = .characters(likely[0]) }
      }
    }
    return evidence
  }

  /// Whether all characters of a path are in planes of which Unicode has ever assigned any.
  private static func hasUsualCharacters(_ path: Path?) -> Bool {
    guard let path else { return false }
    return path.keys.allSatisfy { key in
      key.string.unicodeScalars.allSatisfy { !(4...13).contains($0.value >> 16) }
    }
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
    for key in try view.keys(Spaces.system, prefix: SystemKey.trees) {
      if case .tree(let id) = SystemKey(key) { trees.insert(id) }
    }
    trees.remove(TreeID(rawValue: 0))
    return trees
  }
}
