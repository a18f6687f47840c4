internal import ConiferKeyValue
internal import Synchronization

/// A store that lays one fault over another store, and is it in all else.
final class MutatedStore: OrderedStore {
  struct State {
    /// How many commits were asked for since it was opened.
    var commits = 0
    /// The number that the newest commit got.
    var last = CommitID(rawValue: 0)
    /// What the numbers begin with since it was resumed.
    var first: UInt64 = 0
    /// What has to be hardened before the next call.
    var late: CommitID?
    /// The first half of a commit that was refused.
    var half: [Batch.Edit] = []
    /// Spaces that are seen as they were before the newest commit.
    var lagging: (spaces: Set<UInt8>, view: any OrderedView)?
    /// What reads of single keys see.
    var stale: (any OrderedView)?
    /// Whether it only says that it is suspended.
    var pretends = false
    /// How often it was suspended or closed, which ends the views.
    var lives = 0
    /// The most that was live.
    var live = 0
    /// Bytes that are never given back.
    var waste = 0
    /// Whether the newest commit may be lost with the process.
    var isRelaxed = false
    /// Whether a commit failed because of the disk.
    var isPoisoned = false
    var isClosed = false
  }

  let site: MutationSite
  let directory: String
  let state = Mutex(State())
  private let inner: Mutex<any OrderedStore>
  private let reopen: @Sendable () throws(StoreError) -> any OrderedStore
  /// Whether another store owns the one below.
  private let isGuest: Bool

  private init(
    _ base: any OrderedStore, _ site: MutationSite, _ directory: String, isGuest: Bool = false,
    _ reopen: @escaping @Sendable () throws(StoreError) -> any OrderedStore
  ) {
    inner = Mutex(base)
    self.site = site
    self.directory = directory
    self.isGuest = isGuest
    self.reopen = reopen
  }

  /// The store below.
  var base: any OrderedStore { inner.withLock { $0 } }

  /// Opens the store below, and does what the fault does at opening.
  static func open(
    _ directory: String, _ site: MutationSite,
    _ open: @escaping @Sendable (String) throws(StoreError) -> any OrderedStore
  ) throws(StoreError) -> any OrderedStore {
    let reopen: @Sendable () throws(StoreError) -> any OrderedStore = {
      () throws(StoreError) in try open(directory)
    }
    let base: any OrderedStore
    do throws(StoreError) {
      base = try reopen()
    } catch {
      guard error.code == .busy, case .life(let fault)? = site.fault else { throw error }
      if fault == .hidesOwner {
        site.happened()
        throw StoreError(.busy, "Busy.")
      }
      guard fault == .letsTwoIn, let owner = site.owners.withLock({ $0[directory] }) else {
        throw error
      }
      site.happened()
      return MutatedStore(owner.base, site, directory, isGuest: true, reopen)
    }
    let store = MutatedStore(base, site, directory, reopen)
    do throws(StoreError) {
      try store.opened()
    } catch {
      try? base.close()
      throw error
    }
    if case .life(.letsTwoIn)? = site.fault { site.owners.withLock { $0[directory] = store } }
    return store
  }

  /// Replaces the store below by one that is opened anew.
  func openAnew() throws(StoreError) {
    try? base.close()
    let again = try reopen()
    inner.withLock { $0 = again }
  }

  /// Whether the fault befalls this one of those that it may befall.
  func isTurn(_ every: Int) -> Bool {
    site.candidates.add(1, ordering: .relaxed).newValue % every == 0
  }

  var traits: StoreTraits {
    var traits = base.traits
    switch site.fault {
    case .life(.changesTraits):
      let commits = state.withLock { $0.commits }
      if commits > 0 { site.happened() }
      traits.writeQuantum += commits
    case .life(.overstatesQuantum):
      site.happened()
      traits.writeQuantum *= LifeFault.overstatement
    case .openings(.remembers):
      site.happened()
      traits.isPersistent = false
    default: break
    }
    return traits
  }

  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    try requireAwake()
    try hardenLate()
    let number = state.withLock { state in
      state.commits += 1
      return state.commits
    }
    let commit: CommitID
    switch site.fault {
    case .edits(let fault):
      commit = try base.apply(batch.with(try edits(of: batch, fault)), durability)
    case .commits(let fault): commit = try self.commit(batch, durability, number, fault)
    case .failures(let fault): commit = try self.commit(batch, durability, fault)
    case .views(let fault):
      try note(batch, number, fault)
      commit = try base.apply(batch, durability)
    case .life(let fault): commit = try self.commit(batch, durability, fault)
    case .damage(let fault): commit = try self.commit(batch, durability, fault)
    case .openings, .variable, nil: commit = try base.apply(try remembering(batch), durability)
    }
    state.withLock { state in
      state.last = commit
      state.isRelaxed = durability == .relaxed
    }
    return commit
  }

  func harden(_ upTo: CommitID) throws(StoreError) {
    try requireAwake()
    try hardenLate()
    switch site.fault {
    case .commits(let fault): try harden(upTo, fault)
    case .failures(.swallowsHardening):
      do throws(StoreError) {
        try base.harden(upTo)
      } catch {
        guard error.isOfDisk else { throw error }
        site.happened()
      }
    case .life(.hardeningLosesCommit):
      try base.harden(upTo)
      try undo()
    default: try base.harden(upTo)
    }
  }

  func view() throws(StoreError) -> any OrderedView {
    try requireAwake()
    return MutatedView(self, try base.view())
  }

  func tidy(_ slice: Duration) throws(StoreError) -> Bool {
    try requireAwake()
    try hardenLate()
    let isMore = try base.tidy(slice)
    if case .life(.tidyingLosesCommit)? = site.fault { try undo() }
    return isMore
  }

  func size() throws(StoreError) -> StoreSize {
    let size = try base.size()
    guard case .life(let fault)? = site.fault else { return size }
    return mutated(size, fault)
  }

  func suspend() throws(StoreError) {
    try hardenLate()
    switch site.fault {
    case .life(let fault): try suspend(fault)
    case .commits(.suspendsUnsynced): try unsynced { () throws(StoreError) in try base.suspend() }
    case .failures(.swallowsSuspending):
      do throws(StoreError) {
        try base.suspend()
      } catch {
        guard error.isOfDisk else { throw error }
        site.happened()
      }
    default: try base.suspend()
    }
    end()
  }

  /// Runs a closure, and takes its syncs out of the record of the store's file calls.
  private func unsynced(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    if try IOSession.withoutSyncs(in: directory, body) { site.happened() }
  }

  func resume() throws(StoreError) {
    if state.withLock({ state in
      defer { state.pretends = false }
      return state.pretends
    }) {
      return
    }
    switch site.fault {
    case .life(.ignoresSuspension): return
    case .failures(.resumingCures) where state.withLock({ $0.isPoisoned }):
      try openAnew()
      site.happened()
      state.withLock { $0.isPoisoned = false }
      return
    default: break
    }
    try base.resume()
    guard case .commits(.beginsNumbersAnew)? = site.fault else { return }
    state.withLock { $0.first = $0.last.rawValue }
  }

  func close() throws(StoreError) {
    guard !isGuest else { return }
    _ = site.owners.withLock { $0.removeValue(forKey: directory) }
    try? hardenLate()
    let isFirst = end()
    switch site.fault {
    case .life(.failsSecondClose) where !isFirst:
      site.happened()
      throw StoreError(.closed, "The store was closed; open it again.")
    case .failures(.swallowsClosing):
      do throws(StoreError) {
        try base.close()
      } catch {
        site.happened()
      }
    case .commits(.closesUnsynced): try unsynced { () throws(StoreError) in try base.close() }
    default:
      // A store that is suspended or closed remembers nothing more.
      try? rememberClosing()
      try base.close()
    }
    state.withLock { $0.isClosed = true }
  }

  var findings: [StoreFinding] {
    guard case .life(.inventsFindings)? = site.fault else { return base.findings }
    site.happened()
    return base.findings + [Self.invention]
  }

  func acknowledgeFindings() throws(StoreError) { try base.acknowledgeFindings() }

  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool {
    if case .damage(let fault)? = site.fault { return try verify(found, fault) }
    if case .life(.inventsDamage)? = site.fault {
      site.happened()
      found(Self.invention)
    }
    let mayBeRead = try base.verify(found)
    guard case .life(.deniesReading)? = site.fault else { return mayBeRead }
    site.happened()
    return false
  }

  private static let invention = StoreFinding(
    file: "none", offset: 0, bytes: 1, words: "This is invented.")

  /// Lets go of the views that the fault needs; those of readers throw from now on.
  ///
  /// - Returns: whether it was not closed before.
  @discardableResult
  private func end() -> Bool {
    state.withLock { state in
      state.lagging = nil
      state.stale = nil
      state.lives += 1
      return !state.isClosed
    }
  }

  /// Throws when it says that it is suspended, and is not.
  func requireAwake() throws(StoreError) {
    guard state.withLock({ $0.pretends }) else { return }
    throw StoreError(.suspended, "The store is suspended; call resume() first.")
  }

  /// Does what an earlier call should have done.
  private func hardenLate() throws(StoreError) {
    let late = state.withLock { state in
      defer { state.late = nil }
      return state.late
    }
    if let late { try base.harden(late) }
  }
}

extension Batch {
  /// The batch with other edits.
  func with(_ edits: some Sequence<Edit>) -> Batch {
    var batch = Batch(Array(edits))
    batch.frees = frees
    return batch
  }
}

extension StoreError {
  /// Whether the disk is to blame, now or earlier.
  var isOfDisk: Bool { [.io, .full, .poisoned].contains(code) }
}

extension StoreFactory {
  /// The same stores with a fault laid over them.
  func mutated(_ site: MutationSite) -> StoreFactory {
    var factory = self
    switch site.fault {
    case .openings(.remembers): factory.declared.isPersistent = false
    case .life(.overstatesQuantum): factory.declared.writeQuantum *= LifeFault.overstatement
    default: break
    }
    factory.open = { [open] (directory) throws(StoreError) in
      try MutatedStore.open(directory, site, open)
    }
    return factory
  }
}
