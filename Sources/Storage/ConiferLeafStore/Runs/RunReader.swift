package import ConiferKeyValue

/// Finds and reads the runs of one tree in a snapshot or a transaction, merged with their deltas.
package struct RunReader {
  package let view: any LeafView
  package let tree: TreeID

  package init(view: any LeafView, tree: TreeID) {
    self.view = view
    self.tree = tree
  }

  package var leaves: LeafStore { view.leaves }
  package var cutLength: Int { leaves.cutLength }

  /// How the bodies of runs and deltas are unpacked.
  package var unpacking: Unpacking { Unpacking(view: view, tree: tree) }

  /// The head of a run. Of a damaged run it holds what the key tells, so that the runs around it can be
  /// used; reading its entries throws.
  private func head(_ storeKey: Bytes, _ value: Bytes) throws(StoreError) -> RunHead {
    do throws(StoreError) {
      return try RunHead(storeKey: storeKey, value: value)
    } catch {
      guard error.code == .damaged, storeKey.count - 4 < cutLength else { throw error }
      return RunHead(damaged: storeKey)
    }
  }

  /// The head of the run at an origin of a walk, or nil when no run of the tree is there.
  ///
  /// A kept run is used when the store still holds the bytes that it was decoded from: nothing is copied or
  /// checked again then.
  ///
  /// - Parameter other: a key of the store that is passed over.
  private func head(_ origin: Origin, otherThan other: Bytes? = nil) throws(StoreError) -> RunHead?
  {
    let prefix = StoreKey.prefix(tree)
    var kept: DecodedRun?
    var found: (key: Bytes, value: Bytes)?
    try view.walk(Spaces.runs, origin) { key, value in
      if let other, key.equals(other) { return .next }
      guard key.starts(with: prefix) else { return .stop }
      kept = find(key, value)
      if kept == nil { found = (Bytes(key), Bytes(value)) }
      return .stop
    }
    if let kept { return kept.headOfRecord }
    guard let (key, value) = found else { return nil }
    return try head(key, value)
  }

  /// The kept run that was decoded from a lent record.
  private func find(_ storeKey: RawSpan, _ value: RawSpan) -> DecodedRun? {
    guard let number = RunHead.number(value),
      let run = leaves.generations.withRuns({ $0.find(tree, number) }),
      run.isStored(as: storeKey, value)
    else { return nil }
    return run
  }

  /// The head of the run with a key of the store.
  ///
  /// - Throws: `damaged`, also when there is none.
  package func run(at storeKey: Bytes) throws(StoreError) -> RunHead {
    var kept: DecodedRun?
    let value: Bytes?? = try view.get(Spaces.runs, storeKey) { value in
      kept = find(storeKey.span.bytes, value)
      return kept == nil ? Bytes(value) : nil
    }
    if let kept { return kept.headOfRecord }
    guard case .some(.some(let value)) = value else { throw Damage.error(Spaces.runs, storeKey) }
    return try RunHead(storeKey: storeKey, value: value)
  }

  /// The run that a path key belongs to, or nil when all runs begin behind it.
  package func run(covering key: Bytes) throws(StoreError) -> RunHead? {
    if let run = current(covering: key) { return run.headOfCurrent }
    var probe = StoreKey.prefix(tree)
    if key.count >= cutLength {
      probe += key.prefix(cutLength) + Bytes(repeating: 0xFF, count: 8)
    } else {
      probe += key
    }
    var found = try head(.atOrBefore(probe))
    while let head = found {
      // Runs with one cut separator are told apart by the whole one inside.
      if !head.isCut || compareBytes(head.separator, key) <= 0 { return head }
      found = try run(before: head.storeKey)
    }
    return nil
  }

  /// The first run that may hold a path key or a later one.
  package func run(coveringOrAfter key: Bytes) throws(StoreError) -> RunHead? {
    if let head = try run(covering: key) { return head }
    return try run(after: nil)
  }

  /// The run after a key of the store, or the tree's first.
  package func run(after storeKey: Bytes?) throws(StoreError) -> RunHead? {
    guard let storeKey else { return try head(.atOrAfter(StoreKey.prefix(tree))) }
    let known = view.memorySnapshot?.fromMemory { memory, generation in
      memory.withRuns { $0.next(tree, storeKey, at: generation) }
    }
    switch known {
    case .end: return nil
    case .run(let run): return run.headOfCurrent
    case nil: break
    }
    let next = try head(.atOrAfter(storeKey + [0]))
    if let generation = view.memorySnapshot?.generation {
      leaves.generations.setNext(next, after: storeKey, tree, at: generation)
    }
    return next
  }

  /// The run before a key of the store, or the tree's last.
  package func run(before storeKey: Bytes?) throws(StoreError) -> RunHead? {
    if let storeKey { return try head(.atOrBefore(storeKey), otherThan: storeKey) }
    return try head(.atOrBefore(StoreKey.prefix(tree) + Bytes(repeating: 0xFF, count: 16)))
  }

  /// The deltas of a run, oldest first, with their keys and stored sizes.
  ///
  /// - Throws: `damaged` naming the run.
  package func deltas(
    of run: RunHead
  ) throws(StoreError) -> [(key: Bytes, size: Int, delta: DeltaRecord)] {
    try naming(run.storeKey) { () throws(StoreError) in try deltas(run.number) }
  }

  /// Reads parts of a run, and reports damage of its deltas or large leaves as damage of the run: their keys
  /// do not tell which run they belong to.
  private func naming<R>(
    _ run: @autoclosure () throws(StoreError) -> Bytes, _ body: () throws(StoreError) -> R
  ) throws(StoreError) -> R {
    do throws(StoreError) {
      return try body()
    } catch {
      guard error.code == .damaged,
        let space = error.place?.space, [Spaces.deltas.id, Spaces.chunks.id].contains(space)
      else { throw error }
      throw StoreError(
        .damaged, error.message, cause: error.cause,
        place: StoreError.Place(space: Spaces.runs.id, key: try run()))
    }
  }

  /// The deltas of a run's number, oldest first, with their keys and stored sizes.
  package func deltas(_ number: UInt64) throws(StoreError) -> [(
    key: Bytes, size: Int, delta: DeltaRecord
  )] {
    var deltas: [(key: Bytes, size: Int, delta: DeltaRecord)] = []
    for (key, value) in try view.entries(Spaces.deltas, prefix: DeltaRecord.prefix(tree, number)) {
      let delta = try DeltaRecord(key: key, value: value, unpacking)
      deltas.append((key, value.count, delta))
    }
    return deltas
  }

  /// The entries of a run without its deltas.
  package func entries(_ head: RunHead) throws(StoreError) -> EntryList {
    try head.entries(unpacking)
  }

  /// The entries of a run with its deltas.
  package func merged(_ head: RunHead) throws(StoreError) -> EntryList {
    try decoded(head).entries
  }

  /// A run decoded with its deltas. The reading is counted, and a run that was read lately is kept for others.
  package func decoded(_ head: RunHead) throws(StoreError) -> DecodedRun {
    let keeps =
      head.kept.run != nil || leaves.generations.withRuns { $0.countReading(tree, head) }
    if case .current(let run) = head.kept { return run }
    return try naming(head.storeKey) { () throws(StoreError) in try laid(head, keeps: keeps) }
  }

  /// - Parameter keeps: whether to keep it for others.
  private func laid(_ head: RunHead, keeps: Bool) throws(StoreError) -> DecodedRun {
    let prefix = DeltaRecord.prefix(tree, head.number)
    let known = head.kept.run
    // Often the stored deltas are those of the kept run, or one more.
    var isKnown = true
    var count = 0
    var rest: [(key: Bytes, value: Bytes)] = []
    try view.walk(Spaces.deltas, .atOrAfter(prefix)) { key, value in
      guard key.starts(with: prefix) else { return .stop }
      if let known, rest.isEmpty, count < known.deltas.count {
        isKnown = value.equals(known.deltas[count].value) && key.equals(known.deltas[count].key)
        count += 1
        return isKnown ? .next : .stop
      }
      rest.append((Bytes(key), Bytes(value)))
      return .next
    }
    if let known, isKnown, count == known.deltas.count {
      return rest.isEmpty ? confirmed(known) : keep(try lay(rest, over: known), keeps)
    }
    if known != nil { rest = try view.entries(Spaces.deltas, prefix: prefix) }
    var head = head
    head.kept = .nothing
    return keep(try lay(rest, over: DecodedRun(head, [], try entries(head))), keeps)
  }

  /// A run with more deltas laid over it.
  private func lay(
    _ records: [(key: Bytes, value: Bytes)], over run: DecodedRun
  ) throws(StoreError) -> DecodedRun {
    guard !records.isEmpty else { return run }
    var deltas = run.deltas
    var changes: [EntryChange] = []
    for (key, value) in records {
      let delta = try DeltaRecord(key: key, value: value, unpacking)
      changes += delta.changes
      deltas.append(
        DecodedRun.Delta(
          key: key, value: value, leaves: delta.head.leaves, rawCount: delta.head.rawCount))
    }
    return DecodedRun(run.head, deltas, run.entries.merged(changes))
  }

  private func keep(_ run: DecodedRun, _ keeps: Bool) -> DecodedRun {
    guard keeps else { return run }
    leaves.generations.withRuns { $0.add(tree, run) }
    return confirmed(run)
  }

  /// Records that the snapshot's generation has a run as it is kept.
  private func confirmed(_ run: DecodedRun) -> DecodedRun {
    if let generation = view.memorySnapshot?.generation {
      leaves.generations.confirm(tree, run, at: generation)
    }
    return run
  }

  // MARK: Memory

  /// The run that a path key belongs to, if memory knows it at the snapshot's generation.
  private func current(covering key: Bytes) -> DecodedRun? {
    guard key.count < cutLength else { return nil }
    return view.memorySnapshot?.fromMemory { memory, generation in
      memory.withRuns { $0.covering(tree, key, at: generation) }
    }
  }

  /// The encoding of a leaf that is stored in chunks.
  ///
  /// - Parameter run: the store's key of the run that refers to them.
  /// - Throws: `damaged` naming the run.
  package func largeLeaf(
    _ reference: LargeLeafReference, in run: @autoclosure () throws(StoreError) -> Bytes
  ) throws(StoreError) -> Bytes {
    try naming(try run()) { () throws(StoreError) in try LargeLeaf.read(self, reference) }
  }
}
