import ConiferKeyValue

/// What runs on the store's thread: groups of commits, housekeeping, repair.
final class PackedEngine: @unchecked Sendable {
  // Unchecked: all but the constants is touched on the store's thread alone.

  /// A commit that waits for its turn.
  struct Pending: Sendable {
    let edits: [StorageEdit]
    let durability: Durability
    let reply: @Sendable (Result<CommitReceipt, StoreError>) -> Void
  }

  /// Work for the store's thread.
  enum Work: Sendable {
    case commit(Pending)
    /// Gets the engine, or why there is none any more.
    case task(@Sendable (Result<PackedEngine, StoreError>) -> Void)
  }

  let store: any OrderedStore
  let moments = Moments()
  let codec: Codec
  let longestKey: Int
  let role: StoreRole
  /// What the cache may take, in physical bytes.
  let budget: Int?
  /// About how long a slice of an eviction holds the commits that come meanwhile.
  let sliceTime: Duration
  let activity: Activity
  /// Whether trees may have indexes.
  let keepsIndexes: Bool
  var eviction = EvictionState()
  var mending = MendingState.idle
  /// About how many bytes the store has written since the last slice of the mending.
  var unmended = 0
  /// Whether indexes may have to be built, or rows of dropped ones removed; nil until it was looked.
  var hasIndexWork: Bool?
  private(set) var shape: RunShape
  private var lastCommit = CommitID(rawValue: 0)
  /// What all commits so far survive. What was found at opening, or when the store was taken again, counts
  /// for nothing: the process that wrote it may have died before its sync.
  private var weakest = Durability.relaxed
  private var housekeeping = Housekeeping()
  /// Whether every tree is known to be found by its name.
  private var hasCheckedNames = false
  /// The newest commit when the current pass of housekeeping began.
  private var passBegan = CommitID(rawValue: 0)
  /// The commit behind which a whole pass found nothing to do.
  private var tidied: CommitID?

  init(_ store: any OrderedStore, _ options: StorageOptions, _ activity: Activity) {
    role = options.role
    budget = options.budget
    sliceTime = options.evictionSlice
    keepsIndexes = options.encryption == nil
    self.activity = activity
    self.store = store
    self.codec = Codec(options.compression, cache: options.decodedCache)
    self.longestKey = store.traits.longestKey
    self.shape = RunShape(store.traits, options.compression)
  }

  /// Does queued work in order; neighbouring commits share one flush.
  ///
  /// - Returns: whether eviction or the building of indexes would go on in an idle moment.
  func drain(_ works: [Work]) -> Bool {
    let wasMending = isMending
    if works.isEmpty { isEvicting ? evictIdly() : buildIdly() }
    // What one of these commits leaves to be mended is left to the store's thread: whoever waits for a
    // commit does not pay for it.
    defer { if wasMending { mendSlices() } else { unmended = 0 } }
    var group: [Pending] = []
    for work in works {
      switch work {
      case .commit(let pending): group.append(pending)
      case .task(let task):
        commit(&group)
        task(.success(self))
      }
    }
    commit(&group)
    return isEvicting || hasIndexWork == true || isMending
  }

  // MARK: Commits

  private func commit(_ group: inout [Pending]) {
    guard !group.isEmpty else { return }
    defer { group = [] }
    evict(before: group)
    for (pending, result) in zip(group, results(group)) { pending.reply(result) }
    noteBudget()
  }

  /// Leaves what would go on while nothing else waits; before the store is closed.
  func endIdleWork() {
    eviction.phase = .resting
    hasIndexWork = false
  }

  /// Applies a group in one batch, and one by one when the store refuses that: a commit that is too
  /// large, or for which there is no space, fails alone.
  private func results(_ group: [Pending]) -> [Result<CommitReceipt, StoreError>] {
    do throws(StoreError) {
      return try retryingAfterRepair { (tried) throws(StoreError) in try attempt(group, tried) }
    } catch {
      if group.count > 1, [.tooLarge, .full].contains(error.code) {
        return group.flatMap { results([$0]) }
      }
      return group.map { _ in .failure(error) }
    }
  }

  /// Whether a damaged record may be set aside: an authority never drops its data, and no store can
  /// do without its registry.
  func mayRepair(_ place: StoreError.Place) -> Bool {
    if place.space == Spaces.system.id { return false }
    let isData = [Spaces.runs, Spaces.deltas, Spaces.parts, Spaces.dictionaries].contains {
      $0.id == place.space
    }
    return role == .cache || !isData
  }

  /// Tries something again each time a damaged record was set aside.
  ///
  /// - Parameter body: gets the places that were tried already.
  func retryingAfterRepair<R>(
    _ body: (Set<StoreError.Place>) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    var places: Set<StoreError.Place> = []
    while true {
      do throws(StoreError) {
        return try body(places)
      } catch {
        if try goOn(after: error) { continue }
        guard error.code == .damaged, let place = error.place, mayRepair(place),
          places.insert(place).inserted
        else { throw error }
        do throws(StoreError) {
          try repair(place)
        } catch {
          // Damage that cannot be set aside is met again by those whom it concerns.
          guard error.code == .damaged else { throw error }
        }
      }
    }
  }

  /// Applies a group of commits in one batch; one that fails leaves the others alone.
  private func attempt(
    _ group: [Pending], _ tried: Set<StoreError.Place>
  ) throws(StoreError) -> [Result<CommitReceipt, StoreError>] {
    let tx = Transaction(try store.view())
    defer { tx.close() }
    var outcomes: [Result<(writes: [WriteID], queries: [QueryID]), StoreError>] = []
    var appliers: [CommitApplier] = []
    var durability = Durability.relaxed
    for pending in group {
      let saved = tx.state
      do throws(StoreError) {
        guard pending.durability <= store.traits.strongest else {
          throw StoreError(
            .unsupported,
            "This store goes no further than \(store.traits.strongest): commit at that, or choose "
              + "another backend.")
        }
        var applier = CommitApplier(
          tx, codec: codec, longestKey: longestKey, shape: shape, keepsIndexes: keepsIndexes)
        try applier.apply(pending.edits)
        try applier.findUncovered(in: eviction.swept.watched)
        appliers.append(applier)
        shape = applier.shape
        durability = max(durability, pending.durability)
        outcomes.append(.success((applier.writes, applier.queries)))
      } catch {
        if error.code == .damaged, let place = error.place, mayRepair(place),
          !tried.contains(place)
        {
          throw error
        }
        tx.state = saved
        outcomes.append(.failure(error))
      }
    }
    var uses = Recency.Stored()
    if tx.state.isChanged {
      uses = try Recency.store(
        tx, activity.due, distance: Activity.quantum, limit: Activity.ride)
      // The counter lies there.
      if tx.state.overlays[Spaces.system.id] != nil {
        activity.advance(to: try Recency.clock(tx))
      }
    }
    let commit = try finish(tx, durability)
    activity.stored(uses)
    for applier in appliers { note(applier) }
    return outcomes.map { outcome in
      outcome.map { CommitReceipt(commit: commit, writes: $0.writes, queries: $0.queries) }
    }
  }

  /// Applies a commit in the making; one that changes nothing writes nothing.
  private func finish(_ tx: Transaction, _ durability: Durability) throws(StoreError) -> CommitID {
    guard tx.state.isChanged else {
      tx.close()
      if durability > weakest {
        try apply(Batch(), durability, changesData: false)
        weakest = durability
      }
      return lastCommit
    }
    try tx.writeUsage()
    let batch = tx.batch()
    let mended = mended(by: tx)
    tx.close()
    let bytes = batch.edits.reduce(0) { $0 + max(store.traits.writeQuantum, $1.byteCount) }
    let changesData = Spaces.data.contains { tx.state.overlays[$0.id] != nil }
    try apply(batch, durability, changesData: changesData)
    weakest = durability
    mending = mended
    unmended.add(bytes)
    count(tx.state.usage)
    noteIndexes(tx.state)
    return lastCommit
  }

  /// Changes the store, between two moments of readers.
  ///
  /// - Parameter changesData: whether data or the list of trees may be others then.
  private func apply(
    _ batch: Batch, _ durability: Durability, changesData: Bool = true
  ) throws(StoreError) {
    moments.begin()
    defer { moments.end(changesData: changesData) }
    lastCommit = try store.apply(batch, durability)
  }

  /// Runs a change of its own, outside of the contract's edits.
  func change<R>(
    _ durability: Durability, _ body: (Transaction) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    let tx = Transaction(try store.view())
    defer { tx.close() }
    let result = try body(tx)
    _ = try finish(tx, min(durability, store.traits.strongest))
    return result
  }

  func harden(_ upTo: CommitID) throws(StoreError) {
    try store.harden(upTo)
    if upTo >= lastCommit { weakest = .power }
  }

  /// The tree with a name, made if there is none.
  func tree(_ name: String, _ order: KeyOrder, _ durability: Durability) throws(StoreError)
    -> TreeID
  {
    try retryingAfterRepair { (_) throws(StoreError) in
      try change(durability) { (tx) throws(StoreError) in
        if !hasCheckedNames, try Trees.find(tx, name) == nil {
          try Trees.checkNames(tx)
          hasCheckedNames = true
        }
        return try Trees.make(tx, name, order)
      }
    }
  }

  // MARK: Housekeeping and repair

  /// Forgets what was known of the store, which another process may have had since.
  func forgetStore() throws(StoreError) {
    weakest = .relaxed
    tidied = nil
    hasIndexWork = nil
    eviction = EvictionState()
    try resumeMending()
    activity.advance(to: try Recency.clock(of: store))
  }

  /// Whether nothing was committed since a whole pass found nothing to do.
  var isTidy: Bool { tidied == lastCommit }

  /// Stores what a training came to.
  func keep(_ training: Training) throws(StoreError) {
    try retryingAfterRepair { (_) throws(StoreError) in
      try change(.process) { (tx) throws(StoreError) in try training.keep(tx) }
    }
  }

  func tidy(_ slice: Duration) throws(StoreError) -> Bool {
    let end = ContinuousClock.now + slice
    while ContinuousClock.now < end {
      // The record of what is declared may be lost or damaged.
      let isDue = try retryingAfterRepair { (_) throws(StoreError) in try needsIndexWork() }
      guard isDue else { break }
      try buildIndexes()
    }
    while isMending, ContinuousClock.now < end { mendSlice() }
    guard hasIndexWork != true, !isMending else { return true }
    while !isTidy, ContinuousClock.now < end {
      if housekeeping.isAtStart { passBegan = lastCommit }
      let isDone = try retryingAfterRepair { (_) throws(StoreError) in
        let (next, isDone) = try step(housekeeping)
        housekeeping = next
        return isDone
      }
      if isDone, passBegan == lastCommit { tidied = lastCommit }
    }
    // Idle means no reading either: a pass runs again only after a commit.
    guard isTidy else { return true }
    return try store.tidy(max(.milliseconds(1), end - ContinuousClock.now))
  }

  private func step(
    _ pass: Housekeeping
  ) throws(StoreError) -> (Housekeeping, isDone: Bool) {
    do throws(StoreError) {
      let isQuiet = passBegan == lastCommit
      let (next, isDone, learnt) = try change(.process) { (tx) throws(StoreError) in
        try pass.step(tx, codec: codec, longestKey: longestKey, shape: shape, isQuiet: isQuiet)
      }
      shape = learnt
      return (next, isDone)
    } catch {
      guard error.code == .damaged, let place = error.place, !mayRepair(place) else { throw error }
      // What may not be set aside is left as it is, with the runs around it.
      let view = try store.view()
      defer { view.close() }
      return try pass.skip(view)
    }
  }

  /// Sets a damaged record aside, and those that are met on the way.
  ///
  /// - Throws: `damaged` for a record that must stay.
  func repair(_ place: StoreError.Place) throws(StoreError) {
    var run = RepairRun(place)
    while !run.isDone { try goOn(&run) }
  }

  /// Does a commit of a repair.
  func goOn(_ run: inout RepairRun) throws(StoreError) {
    while let place = run.places.last {
      do throws(StoreError) {
        try makeReadable(place)
        let begun = run.begun
        run.begun = nil
        let progress = try change(.power) { (tx) throws(StoreError) in
          tx.frees = true
          return try Repair(tx, codec: codec, longestKey: longestKey, shape: shape)
            .setAside(place, begun)
        }
        // A pin or a query may have gone.
        eviction.swept.uncover([StoreKey.tree(place.key)])
        if case .more(let drop) = progress {
          run.begun = drop
        } else {
          run.places.removeLast()
        }
        return
      } catch {
        guard error.code == .damaged, let other = error.place, mayRepair(other),
          run.met.insert(other).inserted
        else { throw error }
        run.places.append(other)
      }
    }
  }

  /// Replaces a value that the store itself refuses to lend by the bytes that stand there: the
  /// record's own checksum then tells its damage, and the bytes can be kept.
  private func makeReadable(_ place: StoreError.Place) throws(StoreError) {
    guard let space = Spaces.all.first(where: { $0.id == place.space }), mayRepair(place) else {
      return
    }
    let view = try store.view()
    defer { view.close() }
    do throws(StoreError) {
      _ = try view.get(space, place.key) { _ in }
    } catch {
      guard error.code == .damaged, error.place == place else { throw error }
      var batch = Batch()
      batch.put(space, place.key, error.found ?? [])
      try apply(batch, min(.power, store.traits.strongest))
    }
  }

  /// Goes on without what the store cannot read, when an error tells of that and it may be left out.
  ///
  /// - Returns: whether what met the error may be tried again.
  func goOn(after error: StoreError) throws(StoreError) -> Bool {
    guard error.code == .damaged, error.place == nil, role == .cache else { return false }
    let findings = store.findings
    guard !findings.isEmpty else { return false }
    try settle(findings)
    return true
  }

  /// Goes on without what the store had to leave out, and with what an earlier opening left to do.
  ///
  /// - Throws: `damaged` for an authority, whose data may not be lacking without a word, and for a
  ///   store whose registry of trees may be lacking.
  func settle(_ findings: [StoreFinding]) throws(StoreError) {
    if let first = findings.first {
      guard role == .cache else {
        throw StoreError(
          .damaged,
          "Data that had been durable is lacking: \(first.words). Put back a copy of the store, or "
            + "open it as a cache to go on without them; nothing was changed.")
      }
      if let lost = findings.first(where: { $0.spaces?.contains(Spaces.system.id) == true }) {
        throw StoreError(
          .damaged,
          "The list of trees may be lacking: \(lost.words). Put back a copy of the store, or make a "
            + "new one; nothing was changed.")
      }
      // What is left must agree again before anybody reads it, also when the process dies between.
      let durability = min(.power, store.traits.strongest)
      try apply(
        try noted { (view) throws(StoreError) in
          try Settlement.begin(view, findings.map(\.words))
        }, durability)
      moments.begin()
      defer { moments.end(changesData: true) }
      try store.acknowledgeFindings()
    }
    guard try noted(Settlement.isUnderWay) else { return }
    // Tree by tree: the note stays until all agree.
    for info in try noted(Trees.readable) {
      try repairing(.process) { (repair) throws(StoreError) in try repair.settle(info) }
    }
    try repairing(.power) { (repair) throws(StoreError) in
      try repair.report(try Settlement.end(repair.tx))
    }
  }

  /// Does a commit of a repair's, again each time another damaged record was set aside.
  private func repairing(
    _ durability: Durability, _ body: (Repair) throws(StoreError) -> Void
  ) throws(StoreError) {
    try retryingAfterRepair { (_) throws(StoreError) in
      try change(durability) { (tx) throws(StoreError) in
        try body(Repair(tx, codec: codec, longestKey: longestKey, shape: shape))
      }
    }
  }

  /// Makes what is left of a tree or lane agree after records of it were removed.
  func settle(_ scope: StoreScope) throws(StoreError) {
    try repairing(.process) { (repair) throws(StoreError) in try repair.settle(scope) }
  }

  private func noted<R>(
    _ body: (any OrderedView) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    let view = try store.view()
    defer { view.close() }
    return try body(view)
  }
}

extension Batch.Edit {
  /// The bytes that it names.
  fileprivate var byteCount: Int {
    switch self {
    case .put(_, let key, let value): key.count + value.count
    case .delete(_, let key): key.count
    case .clear(_, let from, let to): from.count + to.count
    }
  }
}
