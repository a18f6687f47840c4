import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

extension Verifier {
  /// Checks the format record and the registry, and learns which trees there are.
  func checkTrees() throws(StoreError) {
    var names: [Bytes: TreeID] = [:]
    var next: UInt64?
    var highest: UInt32 = 0
    try scan(Spaces.system) { (key, value) throws(StoreError) in
      let payload = Bytes(value.dropFirst(Record.overhead))
      var reader = ByteReader(payload)
      func require(_ isSound: Bool) throws(StoreError) {
        if !isSound { throw Damage.error(Spaces.system, key) }
      }
      switch SystemKey(key) {
      case .format: try require(reader.varint() == Trees.format && reader.isAtEnd)
      case .clock: try require(reader.varint().map { $0 < Recency.end } ?? false)
      case .queueFloor: try require(payload.count == 8)
      // Recovery is not finished: there is nothing to compare its text with.
      case .recovery: break
      // The tree's counts are an estimate, and it may hold orphans, until it is mended.
      case .mending(let tree): damaged.insert(tree)
      case .nextTree:
        next = reader.varint()
        try require(next != nil)
      case .tree(let id):
        highest = max(highest, id.rawValue)
        trees[id] = try Trees.info(snapshot, id)
        try require(trees[id] != nil)
      case .treeName(let name):
        try require(payload.count == 4)
        names[name] = StoreKey.tree(payload)
      case nil: count { $0.unknown += 1 }
      }
    }
    count { $0.trees = self.trees.count }
    for info in trees.values.sorted(by: { $0.id < $1.id })
    where names.removeValue(forKey: Bytes(info.name.utf8)) != info.id {
      found(
        .missing, Spaces.system, SystemKey.tree(info.id).bytes,
        "the tree \"\(info.name)\" is not found by its name")
    }
    for (name, id) in names.sorted(by: { $0.value < $1.value }) {
      found(
        .orphan, Spaces.system, SystemKey.treeName(name).bytes,
        "the name \"\(String(decoding: name, as: UTF8.self))\" names tree \(id.rawValue), which "
          + "is not there")
    }
    if highest > 0, UInt64(highest) >= next ?? 0 {
      found(
        .number, Spaces.system, SystemKey.nextTree.bytes,
        "tree \(highest) is there, and the next one's number is \(next ?? 0)")
    }
    let format = SystemKey.format.bytes
    if try snapshot.get(Spaces.system, format, { _ in true }) == nil {
      found(.missing, Spaces.system, format, "the format record is not there")
    }
  }

  /// Checks named bytes.
  func checkMetadata() throws(StoreError) {
    try scan(Spaces.metadata) { (key, _) throws(StoreError) in
      let name = key.dropFirst(4)
      guard (1...Metadata.longestName).contains(name.count),
        String(validating: name, as: UTF8.self) != nil
      else { throw Damage.error(Spaces.metadata, key) }
    }
  }

  /// Counts what this version does not know: kinds of reports, and spaces of later versions.
  func checkUnknown() throws(StoreError) {
    try scan(Spaces.incidents) { (_, value) throws(StoreError) in
      let kind = value.dropFirst(Record.overhead).first ?? 0
      if !Incidents.isKnown(kind) { count { $0.unknown += 1 } }
    }
    for id in (Spaces.all.map(\.id).max() ?? 0) + 1..<240 {
      var records = 0
      try snapshot.walk(Space(id: id, shape: .rows), .atOrAfter([])) { _, _ in
        records += 1
        return .next
      }
      count { $0.unknown += records }
    }
  }

  /// Compares what was counted with what the store counts.
  func checkUsage() throws(StoreError) {
    var rows: Set<TreeID> = []
    try scan(Spaces.usage) { (key, value) throws(StoreError) in
      if key == StoreCommit.key {
        guard StoreCommit(Bytes(value.dropFirst(Record.overhead))) == nil else { return }
        throw Damage.error(Spaces.usage, key)
      }
      if key == StoreState.signKey {
        guard StoreState.isSign(Bytes(value.dropFirst(Record.overhead))) else {
          throw Damage.error(Spaces.usage, key)
        }
        return
      }
      guard key.count == 4 else { return count { $0.unknown += 1 } }
      let tree = StoreKey.tree(key)
      rows.insert(tree)
      let stored = try UsageRow.read(snapshot, tree)
      guard !damaged.contains(tree) else { return }
      compare(stored, with: counted[tree] ?? UsageRow(), tree)
    }
    for (tree, row) in counted where !rows.contains(tree) && !damaged.contains(tree) {
      compare(UsageRow(), with: row, tree)
    }
  }

  private func compare(_ stored: UsageRow, with counted: UsageRow, _ tree: TreeID) {
    let key = StoreKey.prefix(tree)
    func same(_ what: String, _ stored: Int, _ counted: Int) {
      guard stored != counted else { return }
      found(
        .count, Spaces.usage, key, "\(what): the store counts \(stored), and there are \(counted)")
    }
    for space in Set(stored.bytes.keys).union(counted.bytes.keys).sorted() {
      same("bytes in space \(space)", stored.bytes[space] ?? 0, counted.bytes[space] ?? 0)
    }
    same("leaves", stored.leaves, counted.leaves)
    same("bytes of runs before compression", stored.raw.runs, counted.raw.runs)
    same("bytes of changes before compression", stored.raw.deltas, counted.raw.deltas)
    same(
      "bytes of large leaves before compression", stored.raw.largeLeaves, counted.raw.largeLeaves)
    same("tracked queries", stored.queries, counted.queries)
    same("dictionaries", stored.dictionaries, counted.dictionaries)
    if stored.nextRun < counted.nextRun {
      found(
        .number, Spaces.usage, key,
        "run \(counted.nextRun - 1) is there, and the next one's number is \(stored.nextRun)")
    }
    if stored.nextDictionary < counted.nextDictionary {
      found(
        .number, Spaces.usage, key,
        "dictionary \(counted.nextDictionary - 1) is there, and the next one's number is "
          + "\(stored.nextDictionary)")
    }
  }
}
