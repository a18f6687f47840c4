import ConiferKeyValue

/// Changes the entries of one tree within a commit: runs are loaded when touched, changed in
/// memory, and written at the end, as deltas where a change is small.
final class RunEditor {
  /// A run in memory.
  struct Loaded {
    let storeKey: Bytes
    let separator: Bytes
    let isCut: Bool
    /// Its number, or nil while it was never stored.
    let number: UInt64?
    var entries: [Entry]
    /// Bytes of the stored run, without its deltas.
    let storedSize: Int
    /// Leaves and uncompressed bytes that are counted for the run with its deltas.
    let countedLeaves: Int
    let countedRaw: RawBytes
    let deltas: [(key: Bytes, size: Int)]
    var changes: [EntryChange] = []
    var changedWeight = 0
    var isDirty = false
    /// Whether so much changed that recording it makes no sense.
    var isRewritten = false
  }

  /// A run's deltas together stay below this, whatever the run's size.
  private static let largestDeltas = 4 << 10

  let tx: Transaction
  let tree: TreeID
  let codec: Codec
  let reader: RunReader
  var shape: RunShape
  private var loaded: [Bytes: Loaded] = [:]

  init(_ tx: Transaction, _ tree: TreeID, codec: Codec, longestKey: Int, shape: RunShape) {
    self.tx = tx
    self.tree = tree
    self.codec = codec
    self.shape = shape
    self.reader = RunReader(view: tx, tree: tree, codec: codec, longestKey: longestKey)
  }

  // MARK: Looking

  /// The last entry before a path key, with the edits so far.
  func lastEntry(before key: Bytes) throws(StoreError) -> Entry? {
    var place = try self.place(covering: key)
    var bound: Bytes? = key
    while let storeKey = place {
      let run = try load(storeKey)
      let index = bound.map { run.entries.lowerBound($0) } ?? run.entries.count
      if index > 0 { return run.entries[index - 1] }
      bound = nil
      place = try self.place(before: storeKey)
    }
    return nil
  }

  /// The first entry at or after a path key, with the edits so far.
  func firstEntry(atOrAfter key: Bytes) throws(StoreError) -> Entry? {
    var place = try self.place(covering: key)
    if place == nil { place = try self.place(after: nil) }
    while let storeKey = place {
      let run = try load(storeKey)
      let index = run.entries.lowerBound(key)
      if index < run.entries.count { return run.entries[index] }
      place = try self.place(after: storeKey)
    }
    return nil
  }

  /// The entry of exactly a path key.
  func entry(_ key: Bytes) throws(StoreError) -> Entry? {
    guard let found = try firstEntry(atOrAfter: key), found.key == key else { return nil }
    return found
  }

  // MARK: Changing

  /// Makes the entries in `low ..< high` be exactly these, and nothing else change.
  ///
  /// - Parameter new: entries within the range, ascending.
  /// - Returns: whether anything changed.
  @discardableResult
  func replace(_ low: Bytes, _ high: Bytes, with new: [Entry]) throws(StoreError) -> Bool {
    var isChanged = false
    var index = 0
    var place = try self.place(covering: low)
    if place == nil {
      place = new.isEmpty ? try self.place(after: nil) : makeFirst()
    }
    while let storeKey = place {
      let next = try self.head(after: storeKey)
      let separator = loaded[storeKey]?.separator
      // What belongs to this run ends where the next begins.
      var end = index
      while end < new.count, next.map({ compareBytes(new[end].key, $0.separator) < 0 }) ?? true {
        end += 1
      }
      let part = Array(new[index..<end])
      index = end
      var isDropped = false
      if part.isEmpty {
        isDropped = try dropWhole(storeKey, separator, next?.separator, low, high)
      }
      if isDropped {
        isChanged = true
      } else if try change(storeKey, low, high, part) {
        isChanged = true
      }
      guard let next, compareBytes(next.separator, high) < 0 else { break }
      place = next.storeKey
    }
    return isChanged
  }

  /// Stores one entry.
  func put(_ entry: Entry) throws(StoreError) {
    try replace(entry.key, entry.key + [0], with: [entry])
  }

  /// Removes one entry.
  func delete(_ key: Bytes) throws(StoreError) {
    try replace(key, key + [0], with: [])
  }

  /// Drops a run that lies within a range without decoding it; false when that cannot be done.
  private func dropWhole(
    _ storeKey: Bytes, _ separator: Bytes?, _ nextSeparator: Bytes?, _ low: Bytes, _ high: Bytes
  ) throws(StoreError) -> Bool {
    guard separator == nil, let nextSeparator, compareBytes(nextSeparator, high) <= 0,
      let value = try tx.value(Spaces.runs, storeKey)
    else { return false }
    let head = try RunHead(storeKey: storeKey, value: value)
    guard compareBytes(low, head.separator) <= 0, head.flags & RunHead.hasExternals == 0,
      try tx.keys(Spaces.deltas, prefix: DeltaRecord.prefix(tree, head.number), limit: 1).isEmpty
    else { return false }
    try tx.delete(Spaces.runs, storeKey)
    try tx.countTree(tree, leaves: -head.count, raw: -RawBytes(runs: head.rawCount))
    return true
  }

  private func change(
    _ storeKey: Bytes, _ low: Bytes, _ high: Bytes, _ new: [Entry]
  ) throws(StoreError) -> Bool {
    var run = try load(storeKey)
    let range = run.entries.lowerBound(low)..<run.entries.lowerBound(high)
    if run.entries[range].elementsEqual(new) { return false }
    let changes = Self.difference(run.entries[range], new)
    for change in changes {
      let index = run.entries.lowerBound(change.key)
      let isThere = index < run.entries.count && run.entries[index].key == change.key
      try moveParts(from: isThere ? run.entries[index] : nil, to: change)
    }
    loaded[storeKey] = nil  // so that the array below is changed in place
    run.entries.replaceSubrange(range, with: new)
    run.isDirty = true
    run.changedWeight += changes.reduce(0) { $0 + $1.weight }
    if run.isRewritten || run.changedWeight > run.storedSize / 4 {
      run.isRewritten = true
      run.changes = []
    } else {
      run.changes += changes
    }
    loaded[storeKey] = run
    return true
  }

  /// Writes and deletes the parts of large leaves that a change brings and takes away.
  private func moveParts(from old: Entry?, to change: EntryChange) throws(StoreError) {
    let oldNumber = old.flatMap(LargeLeaf.number)
    var newNumber: UInt64?
    if case .put(let entry) = change {
      newNumber = LargeLeaf.number(entry)
      // The same number means the same content: only a priority changed.
      if newNumber != oldNumber { try LargeLeaf.write(tx, tree, entry, codec: codec) }
    }
    if let old, oldNumber != newNumber { try LargeLeaf.delete(tx, tree, old) }
  }

  /// The changes that turn old entries into new ones.
  private static func difference(_ old: ArraySlice<Entry>, _ new: [Entry]) -> [EntryChange] {
    var changes: [EntryChange] = []
    var at = old.startIndex
    for entry in new {
      while at < old.endIndex, compareBytes(old[at].key, entry.key) < 0 {
        changes.append(.delete(old[at].key))
        at += 1
      }
      if at < old.endIndex, old[at].key == entry.key {
        if old[at].value != entry.value { changes.append(.put(entry)) }
        at += 1
      } else {
        changes.append(.put(entry))
      }
    }
    changes += old[at...].map { .delete($0.key) }
    return changes
  }

  // MARK: Runs in memory

  private func load(_ storeKey: Bytes) throws(StoreError) -> Loaded {
    if let run = loaded[storeKey] { return run }
    guard let value = try tx.value(Spaces.runs, storeKey) else {
      throw Damage.error(Spaces.runs, storeKey)
    }
    let head = try RunHead(storeKey: storeKey, value: value)
    var entries = try reader.entries(head)
    let deltas = try reader.deltas(head.number)
    for (_, _, delta) in deltas { RunReader.merge(delta.changes, into: &entries) }
    let run = Loaded(
      storeKey: storeKey, separator: head.separator, isCut: head.isCut, number: head.number,
      entries: entries, storedSize: value.count,
      countedLeaves: head.count + deltas.reduce(0) { $0 + $1.delta.head.leaves },
      countedRaw: RawBytes(
        runs: head.rawCount, deltas: deltas.reduce(0) { $0 + $1.delta.head.rawCount }),
      deltas: deltas.map { ($0.key, $0.size) })
    loaded[storeKey] = run
    return run
  }

  /// The run before all others, for entries that come before every stored run.
  private func makeFirst() -> Bytes {
    let storeKey = StoreKey.prefix(tree)
    loaded[storeKey] = Loaded(
      storeKey: storeKey, separator: [], isCut: false, number: nil, entries: [], storedSize: 0,
      countedLeaves: 0, countedRaw: RawBytes(), deltas: [])
    return storeKey
  }

  private var hasUnstoredFirst: Bool {
    loaded[StoreKey.prefix(tree)].map { $0.number == nil } ?? false
  }

  private func place(covering key: Bytes) throws(StoreError) -> Bytes? {
    if let head = try reader.run(covering: key) { return head.storeKey }
    return hasUnstoredFirst ? StoreKey.prefix(tree) : nil
  }

  private func head(after storeKey: Bytes) throws(StoreError) -> RunHead? {
    try reader.run(after: storeKey)
  }

  private func place(after storeKey: Bytes?) throws(StoreError) -> Bytes? {
    if storeKey == nil, hasUnstoredFirst { return StoreKey.prefix(tree) }
    return try reader.run(after: storeKey)?.storeKey
  }

  private func place(before storeKey: Bytes) throws(StoreError) -> Bytes? {
    if let head = try reader.run(before: storeKey) { return head.storeKey }
    let first = StoreKey.prefix(tree)
    return hasUnstoredFirst && storeKey != first ? first : nil
  }

  /// Loads a run so that `flush` rewrites it with its deltas; for housekeeping.
  func fold(_ storeKey: Bytes) throws(StoreError) {
    var run = try load(storeKey)
    run.isDirty = true
    run.isRewritten = true
    loaded[storeKey] = run
  }

  /// Moves the entries of a run to the end of the one before, for housekeeping.
  func join(_ storeKey: Bytes, into previous: Bytes) throws(StoreError) {
    let run = try load(storeKey)
    var target = try load(previous)
    target.entries += run.entries
    target.isDirty = true
    target.isRewritten = true
    loaded[previous] = target
    loaded[storeKey] = nil
    try remove(run)
    try tx.countTree(tree, leaves: -run.countedLeaves, raw: -run.countedRaw)
  }

  // MARK: Writing

  /// Writes every changed run into the commit.
  func flush() throws(StoreError) {
    for key in loaded.keys.sorted(by: bytesPrecede) {
      // A run before may have taken this one in meanwhile.
      if let run = loaded[key], run.isDirty { try write(run) }
    }
    loaded = [:]
  }

  private func write(_ run: Loaded) throws(StoreError) {
    if run.entries.isEmpty {
      try remove(run)
      try tx.countTree(tree, leaves: -run.countedLeaves, raw: -run.countedRaw)
    } else if let number = run.number, !run.isRewritten, isWorthADelta(run) {
      try writeDelta(run, number)
    } else {
      try rewrite(run)
    }
  }

  private func isWorthADelta(_ run: Loaded) -> Bool {
    let size = run.deltas.reduce(0) { $0 + $1.size } + run.changedWeight
    return size <= min(run.storedSize / 4, Self.largestDeltas) && run.deltas.count < 16
  }

  private func writeDelta(_ run: Loaded, _ number: UInt64) throws(StoreError) {
    let leaves = run.entries.count - run.countedLeaves
    let (payload, rawCount) = DeltaRecord.payload(
      run.changes, leaves: leaves, try Packing(tx, tree, codec))
    var sequence: UInt32 = 0
    if let last = run.deltas.last?.key {
      sequence = last.suffix(4).reduce(0) { $0 << 8 | UInt32($1) } + 1
    }
    try tx.put(Spaces.deltas, DeltaRecord.key(tree, number, sequence), payload: payload)
    try tx.countTree(tree, leaves: leaves, raw: RawBytes(deltas: rawCount))
  }

  private func remove(_ run: Loaded) throws(StoreError) {
    guard run.number != nil else { return }
    try tx.delete(Spaces.runs, run.storeKey)
    for (key, _) in run.deltas { try tx.delete(Spaces.deltas, key) }
  }

  private func rewrite(_ first: Loaded) throws(StoreError) {
    var run = first
    let packing = try Packing(tx, tree, codec)
    var pieces = shape.pack(run.entries, packing)
    var keys = try storeKeys(run, pieces)
    while keys == nil, let next = try reader.run(after: run.storeKey) {
      // No ordinal is left between cut keys: take the neighbour in and number both anew.
      let neighbour = try load(next.storeKey)
      loaded[next.storeKey] = nil
      try remove(neighbour)
      try tx.countTree(tree, leaves: -neighbour.countedLeaves, raw: -neighbour.countedRaw)
      run.entries += neighbour.entries
      pieces = shape.pack(run.entries, packing)
      keys = try storeKeys(run, pieces)
    }
    for (key, _) in run.deltas { try tx.delete(Spaces.deltas, key) }
    try tx.countTree(tree, leaves: -run.countedLeaves, raw: -run.countedRaw)
    for (index, piece) in pieces.enumerated() {
      guard let key = keys?[index] else { throw Damage.error(Spaces.runs, run.storeKey) }
      let number =
        if index == 0, let number = run.number { number } else { try tx.nextRunNumber(tree) }
      let value = RunHead.seal(
        storeKey: key.storeKey, fullSeparator: key.fullSeparator, number: number, piece)
      try tx.put(Spaces.runs, key.storeKey, value: value)
      try tx.countRun(tree, piece, packing)
    }
  }

  /// The key of a run in the store, and its separator when the key is a cut one.
  private struct RunKey {
    var storeKey: Bytes
    var fullSeparator: Bytes
  }

  /// The keys of the runs that one run is split into, or nil when ordinals ran out.
  private func storeKeys(_ run: Loaded, _ pieces: [RunHead.Packed]) throws(StoreError) -> [RunKey]?
  {
    let prefix = StoreKey.prefix(tree)
    var keys = [
      RunKey(storeKey: run.storeKey, fullSeparator: run.isCut ? run.separator : [])
    ]
    let next = try reader.run(after: run.storeKey)
    for (index, piece) in pieces.enumerated().dropFirst() {
      let key = run.entries[piece.range.lowerBound].key
      let shared = RunBody.commonPrefix(run.entries[piece.range.lowerBound - 1].key, key)
      let separator = Bytes(key.prefix(shared + 1))
      if separator.count < reader.cutLength {
        keys.append(RunKey(storeKey: prefix + separator, fullSeparator: []))
        continue
      }
      let cut = prefix + separator.prefix(reader.cutLength)
      let low = Self.ordinal(keys[index - 1], cut)
      let high = next.flatMap { head in
        head.isCut && head.storeKey.starts(with: cut) ? Self.ordinal(head.storeKey) : nil
      }
      let rest = UInt64(pieces.count - index)
      let step = high.map { ($0 - low) / (rest + 1) } ?? 1 << 32
      guard step > 0 else { return nil }
      keys.append(
        RunKey(storeKey: cut + StoreKey.number(low + step), fullSeparator: separator))
    }
    return keys
  }

  private static func ordinal(_ key: RunKey, _ cut: Bytes) -> UInt64 {
    guard !key.fullSeparator.isEmpty, key.storeKey.starts(with: cut) else { return 0 }
    return ordinal(key.storeKey)
  }

  private static func ordinal(_ storeKey: Bytes) -> UInt64 {
    storeKey.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
