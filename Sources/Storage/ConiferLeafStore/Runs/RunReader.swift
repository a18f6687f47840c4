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

  /// The head of a run. For a damaged run it holds what the key says, so that the neighbouring runs
  /// can be used; reading its entries throws.
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
  /// A cached run is used when the store still holds the bytes from which it was decoded: nothing
  /// is copied or checked again then.
  ///
  /// - Parameter other: a key of the store that is passed over.
  private func head(_ origin: Origin, otherThan other: Bytes? = nil) throws(StoreError) -> RunHead?
  {
    let prefix = StoreKey.prefix(tree)
    var cached: DecodedRun?
    var found: (key: Bytes, value: Bytes)?
    try view.walk(Spaces.runs, origin) { key, value in
      if let other, key.equals(other) { return .next }
      guard key.starts(with: prefix) else { return .stop }
      cached = find(key, value)
      if cached == nil { found = (Bytes(key), Bytes(value)) }
      return .stop
    }
    if let cached { return cached.headOfRecord }
    guard let (key, value) = found else { return nil }
    return try head(key, value)
  }

  /// The cached run that was decoded from a lent record.
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
    var cached: DecodedRun?
    let value: Bytes?? = try view.get(Spaces.runs, storeKey) { value in
      cached = find(storeKey.span.bytes, value)
      return cached == nil ? Bytes(value) : nil
    }
    if let cached { return cached.headOfRecord }
    guard case .some(.some(let value)) = value else { throw Damage.error(Spaces.runs, storeKey) }
    return try RunHead(storeKey: storeKey, value: value)
  }

  /// The run that a path key belongs to, or nil when all runs begin after it.
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
      // Runs with the same cut separator are distinguished by the full one in the record.
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
  /// - Throws: `damaged`, with the run's key.
  package func deltas(
    of run: RunHead
  ) throws(StoreError) -> [(key: Bytes, size: Int, delta: DeltaRecord)] {
    try reportingDamage(run.storeKey) { () throws(StoreError) in try deltas(run.number) }
  }

  /// Reads parts of a run, and reports damage of its deltas or large leaves as damage of the run,
  /// since their keys do not name it.
  private func reportingDamage<R>(
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

  /// A run decoded with its deltas. The reading is counted, and a run that was also read recently
  /// is cached for others.
  package func decoded(_ head: RunHead) throws(StoreError) -> DecodedRun {
    let keeps =
      head.cached.run != nil || leaves.generations.withRuns { $0.countReading(tree, head) }
    if case .current(let run) = head.cached { return run }
    return try reportingDamage(head.storeKey) { () throws(StoreError) in
      try withDeltas(head, keeps: keeps)
    }
  }

  /// - Parameter keeps: whether to cache it for others.
  private func withDeltas(_ head: RunHead, keeps: Bool) throws(StoreError) -> DecodedRun {
    let prefix = DeltaRecord.prefix(tree, head.number)
    let known = head.cached.run
    // Often the cached run has the same deltas as the stored one, or lacks only the newest.
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
      return rest.isEmpty ? confirmed(known) : keep(try applyDeltas(rest, over: known), keeps)
    }
    if known != nil { rest = try view.entries(Spaces.deltas, prefix: prefix) }
    var head = head
    head.cached = .nothing
    return keep(try applyDeltas(rest, over: DecodedRun(head, [], try entries(head))), keeps)
  }

  /// The run with more deltas applied.
  private func applyDeltas(
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

  /// Records that a cached run is current at the snapshot's generation.
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
  /// - Throws: `damaged`, with the run's key.
  package func largeLeaf(
    _ reference: LargeLeafReference, in run: @autoclosure () throws(StoreError) -> Bytes
  ) throws(StoreError) -> Bytes {
    try reportingDamage(try run()) { () throws(StoreError) in try LargeLeaf.read(self, reference) }
  }
}
