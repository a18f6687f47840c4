import ConiferKeyValue
import ConiferLeafStore

/// Runs the parts that change the store in turn: commits, eviction, building of indexes, mending,
/// housekeeping. Each part has its own state, and is informed of the changes of the others.
final class PackedEngine: @unchecked Sendable {
  // Unchecked: `activity`, `leaves`, `policy` and `incidentObserver` are safe on any thread. All else is used within `drain` alone,
  // which `StoreThread` calls on one thread at a time.

  /// A commit that waits for its turn.
  struct Pending: Sendable {
    let edits: [StorageEdit]
    let durability: Durability
    let reply: @Sendable (Result<CommitReceipt, StoreError>) -> Void
  }

  /// A piece of work for the thread that drains the queue.
  enum Work: Sendable {
    case commit(Pending)
    /// Gets the engine, or the error why there is none any more.
    case task(@Sendable (Result<PackedEngine, StoreError>) -> Void)
    /// A slice of housekeeping.
    case tidy(Duration, @Sendable (Result<Bool, StoreError>) -> Void)
  }

  let activity: Activity
  let leaves: LeafStore
  let writer: StoreWriter
  let repairer: Repairer
  let committer: Committer
  let evictor: Evictor
  let indexBuilder: IndexBuilder
  let mender: Mender
  let vanished: VanishedRecords
  let housekeeper: Housekeeper
  let incidentObserver = IncidentObserver()
  /// The state of the store when it was suspended; nil where it is not known.
  private var suspendedAt: StoreState?

  init(_ store: any OrderedStore, _ options: StorageOptions, _ activity: Activity) {
    self.activity = activity
    leaves = LeafStore(store, options.compression, cache: options.decodedCache)
    writer = StoreWriter(leaves, markIn: options.markDirectory)
    repairer = Repairer(writer, options.role)
    committer = Committer(
      writer, repairer, activity, maintainsIndexes: options.encryption == nil)
    evictor = Evictor(writer, repairer, activity, options)
    indexBuilder = IndexBuilder(writer, repairer)
    mender = Mender(writer, repairer)
    vanished = VanishedRecords(writer, repairer)
    housekeeper = Housekeeper(writer, repairer)
    writer.changed = { [unowned self] change in
      mender.didChange(change)
      vanished.didChange(change)
      evictor.didChange(change)
      indexBuilder.didChange(change)
      if change.effects.reportsDamage { incidentObserver.tell(change.effects.ofStore) }
    }
  }

  /// The policy by which damage is repaired or left.
  var policy: DamagePolicy { repairer.policy }

  /// Does queued work in order; adjacent commits share one batch. If there is no work, it does a
  /// slice of eviction or index building. Then it continues mending that was pending before.
  ///
  /// - Parameter isAwaited: whether more work has come; slices end then.
  /// - Returns: whether something is left to do while no work waits.
  func drain(_ works: [Work], isAwaited: () -> Bool = { false }) -> Bool {
    let wasMending = mender.hasWork
    if works.isEmpty { doIdleSlice(isAwaited) }
    // Mending that becomes necessary by these commits begins later, so that no commit waits for it.
    defer {
      if wasMending { mender.catchUp(isAwaited: isAwaited) } else { mender.forgetWritten() }
    }
    var group: [Pending] = []
    for work in works {
      switch work {
      case .commit(let pending): group.append(pending)
      case .task(let task):
        commit(&group)
        task(.success(self))
      case .tidy(let slice, let reply):
        commit(&group)
        let result = Result { () throws(StoreError) in try tidy(slice, isAwaited: isAwaited) }
        // Who asks next what was met finds it.
        reportLeftDamage()
        reply(result)
      }
    }
    commit(&group)
    reportLeftDamage()
    return evictor.hasWork || indexBuilder.hasWork || mender.hasWork
  }

  private func commit(_ group: inout [Pending]) {
    guard !group.isEmpty else { return }
    defer { group = [] }
    reportLoss()
    evictor.makeRoom(before: group)
    committer.commit(group, watching: evictor.swept.watched)
    evictor.checkBudget()
  }

  private func doIdleSlice(_ isAwaited: () -> Bool) {
    if evictor.hasWork { return evictor.slice(isAwaited: isAwaited) }
    guard indexBuilder.hasWork else { return }
    // A slice that fails is tried again after a later commit.
    try? indexBuilder.slice()
    evictor.checkBudget()
  }

  /// Does housekeeping for about the given time, or until other work waits, but a step at least:
  /// first pending index building and mending, then what an opening left to look at, then runs, then the store itself.
  ///
  /// - Returns: whether there is more to tidy.
  private func tidy(
    _ slice: Duration, isAwaited: () -> Bool
  ) throws(StoreError) -> Bool {
    let end = ContinuousClock.now + slice
    var hasBegun = false
    func isOver() -> Bool { ContinuousClock.now >= end || hasBegun && isAwaited() }
    while !hasBegun || !isOver() {
      guard try indexBuilder.needsSliceAfterRepair() else { break }
      try indexBuilder.slice()
      hasBegun = true
    }
    while mender.hasWork, !hasBegun || !isOver() {
      mender.slice()
      hasBegun = true
    }
    guard !indexBuilder.hasWork, !mender.hasWork else { return true }
    while vanished.hasWork, !hasBegun || !isOver() {
      vanished.slice()
      hasBegun = true
    }
    // What it told of is to be mended first.
    guard !vanished.hasWork, !mender.hasWork else { return true }
    try housekeeper.tidy {
      defer { hasBegun = true }
      return hasBegun && isOver()
    }
    // When nothing has changed, nothing is read either: a pass runs again only after a commit.
    guard housekeeper.isTidy else { return true }
    let left = isAwaited() ? .zero : end - ContinuousClock.now
    return try writer.store.tidy(max(.milliseconds(1), left))
  }

  /// Stores the result of a training.
  func store(_ training: Training) throws(StoreError) {
    try repairer.retrying { (_) throws(StoreError) in
      try writer.change(.process) { (tx) throws(StoreError) in try training.store(tx) }
    }
  }

  // MARK: Life

  /// Writes the first record of a new store, recovers from records that the store lost, and resumes
  /// mending that an earlier opening began.
  func open(isNew: Bool) throws(StoreError) {
    let obstacle = try compare(isNew: isNew)
    if isNew {
      let loss = writer.synced.loss
      try repairer.change(.power) { (repair) throws(StoreError) in
        try Trees.writeFormat(repair.tx)
        if let loss { try repair.report(loss) }
      }
    }
    try repairer.recover(from: writer.store.findings)
    try mender.resume()
    reportLoss()
    if let obstacle { report(obstacle) }
    vanished.lookAtOpening()
  }

  /// Compares the store with its mark. That comes before any commit, since each would use up what the
  /// mark shows.
  private func compare(isNew: Bool) throws(StoreError) -> SyncedCommits.Obstacle? {
    try writer.read { (view) throws(StoreError) in try writer.synced.begin(view, isNew: isNew) }
  }

  /// Reports the durable commits that the store lacks, if there are any. If that fails, the mark stays,
  /// the next commit tries again, and writes get numbers above the lost ones meanwhile.
  private func reportLoss() {
    // A resuming that failed may have left it.
    if writer.synced.isUnread, let obstacle = try? compare(isNew: false) { report(obstacle) }
    guard let loss = writer.synced.loss else { return }
    try? repairer.retrying { (_) throws(StoreError) in
      try repairer.change(.power) { (repair) throws(StoreError) in
        repair.tx.frees = true
        try repair.report(loss)
      }
    }
    guard writer.synced.loss == nil else { return }
    // Each for itself: a tree may be damaged, or its key not given.
    let trees = try? writer.read { (view) throws(StoreError) in
      try view.keys(Spaces.system, prefix: SystemKey.trees)
    }
    for key in trees ?? [] {
      guard case .tree(let tree) = SystemKey(key) else { continue }
      try? repairer.change(.process) { (repair) throws(StoreError) in
        try repair.skipQueryNumbers(tree)
      }
    }
  }

  /// Reports the damage that was met and stays as it is, each place once.
  private func reportLeftDamage() {
    for place in policy.left.take() {
      do throws(StoreError) { try repairer.reportLeft(place) } catch { policy.left.forget(place) }
    }
  }

  /// Reports, once, what stands in the place of the store's mark.
  private func report(_ obstacle: SyncedCommits.Obstacle) {
    let words: String
    switch obstacle {
    case .foreign(let path):
      words =
        "the file \(Self.name(path)) beside the store, which is not Conifer's and is left as it is: commits "
        + "that go missing cannot be noticed until it is moved away"
    case .unreadable(let path, let cause):
      words =
        "the file \(Self.name(path)) beside the store, which cannot be read (\(cause)) and is left as it is: "
        + "commits that go missing cannot be noticed until it can"
    }
    // A failure is ignored: the next opening tries again.
    let isKnown = try? writer.read { (view) throws(StoreError) in
      try Incidents.contains(view) { $0.place == words }
    }
    guard isKnown == false else { return }
    try? repairer.change(.process) { (repair) throws(StoreError) in
      try Incidents.add(
        repair.tx,
        Incident(kind: .recordSetAside, tree: TreeID(rawValue: 0), place: words, bytes: []))
    }
  }

  private static func name(_ path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  /// Releases the store until `resume`; when that fails, everything continues as before.
  func suspend() throws(StoreError) {
    // A failure here is ignored, since only the last uses of queries would be lost.
    try? committer.storeUses()
    // Mending and the cache are stopped first: a cached answer must not outlive the open store, and
    // a view would keep the store open.
    mender.stop()
    vanished.stop()
    leaves.generations.stop()
    suspendedAt = state
    do throws(StoreError) { try release() } catch {
      // No sync covers what the mark would name next.
      writer.synced.forget()
      leaves.generations.resume()
      // If the store is closed or suspended after all, this fails, and mending begins at the next
      // opening.
      try? mender.resume()
      throw error
    }
  }

  private func release() throws(StoreError) {
    writer.synced.willRelease()
    try writer.store.suspend()
    writer.synced.didRelease()
  }

  /// Opens the suspended store again; another process may have used it meanwhile. When that fails, it is suspended as
  /// before.
  ///
  /// - Returns: whether one has committed, as far as that is known.
  @discardableResult
  func resume() throws(StoreError) -> Bool {
    try writer.store.resume()
    let newest = state
    var isChanged = newest == nil || newest != suspendedAt
    do throws(StoreError) {
      // What was lost meanwhile changed the store too.
      if !isChanged { isChanged = try hasLosses() }
      try forgetStore()
      try open(isNew: false)
    } catch {
      mender.stop()
      vanished.stop()
      try? release()
      throw error
    }
    leaves.generations.resume()
    return isChanged
  }

  /// Whether the store could not read something, or an opening that left it out did not finish.
  private func hasLosses() throws(StoreError) -> Bool {
    if !writer.store.findings.isEmpty { return true }
    return try writer.read(RecoveryMarker.isSet)
  }

  /// The newest state of the store; nil where it is not known.
  private var state: StoreState? {
    do throws(StoreError) {
      return try writer.read { (view) throws(StoreError) in try StoreState(view) }
    } catch {
      return nil
    }
  }

  /// Forgets what was known of the store.
  func forgetStore() throws(StoreError) {
    writer.forget()
    committer.forget()
    housekeeper.forget()
    indexBuilder.forget()
    evictor.forget()
    try mender.resume()
    activity.advance(to: try Recency.clock(of: writer.store))
  }

  /// Ends housekeeping, and forgets what memory knows.
  func stop() {
    evictor.stop()
    indexBuilder.stop()
    mender.stop()
    vanished.stop()
    leaves.generations.stop()
  }

  func close() throws(StoreError) {
    try? committer.storeUses()
    stop()
    writer.synced.willRelease()
    do throws(StoreError) {
      try writer.store.close()
      writer.synced.didRelease()
    } catch {
      // The files are released anyway.
      writer.synced.forget()
      throw error
    }
  }
}
