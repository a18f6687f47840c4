public import ConiferKeyValue
import ConiferLeafStore
public import ConiferTree
import Synchronization

/// A backend on any ordered store: trees in compressed runs, tracked queries, pins and an outbound
/// queue, changed together in one batch.
///
/// A backend author brings an `OrderedStore` and gets all of ``StorageBackend`` from here.
public final class PackedBackend<Store: OrderedStore>: StorageBackend {
  /// The facts about this backend.
  public let traits: BackendTraits
  /// The store under the backend; closing or changing it directly breaks both.
  public let store: Store
  let engine: PackedEngine
  private let trainer: DictionaryTrainer
  private let thread: StoreThread<PackedEngine.Work>
  /// The process that opened the store.
  private let process = Platform.processStamp

  /// A backend on an open store, which it owns from now on.
  ///
  /// - Parameters:
  ///   - store: an open store whose keys may be at least 510 bytes long.
  ///   - name: the backend's name, as in URLs.
  ///   - options: with encryption, see `open`.
  /// - Throws: `newerFormat`, `foreign`, `damaged` (also an authority whose store had to leave out
  ///   commits), `io`, `unsupported` (keys too short, a durability that the store
  ///     cannot do), `wrongKey` (the store is encrypted), `invalid`
  ///   (the options ask for encryption).
  public convenience init(
    _ store: Store, name: String, options: StorageOptions
  ) throws(StoreError) {
    guard options.encryption == nil else {
      throw StoreError(
        .invalid, "A backend on this very store is not encrypted: use PackedBackend.open.")
    }
    try self.init(layered: store, name: name, options: options)
  }

  /// A backend on a store that the layer of the options, if there is one, was laid over.
  init(layered store: Store, name: String, options: StorageOptions) throws(StoreError) {
    guard store.traits.longestKey >= 510 else {
      throw StoreError(
        .unsupported,
        "Keys of \(store.traits.longestKey) bytes are too short: a packed backend needs 510.")
    }
    let durability = try options.durability.level(in: store.traits)
    self.store = store
    let isNew = try Self.isNew(store)
    let engine = PackedEngine(store, options, Activity(after: try Recency.clock(of: store)))
    self.engine = engine
    self.trainer = DictionaryTrainer(engine.leaves, leastNew: options.leastTraining)
    self.traits = BackendTraits(
      name: name, store: store.traits, role: options.role, compression: options.compression,
      durability: durability, budget: options.budget,
      isEncrypted: options.encryption != nil, format: Int(Trees.format))
    try engine.open(isNew: isNew)
    self.thread = try StoreThread(hasIdleWork: engine.mender.hasWork) { works, isAwaited in
      engine.drain(works, isAwaited: isAwaited)
    }
  }

  deinit { thread.end() }

  /// Whether a store has no format record.
  private static func isNew(_ store: Store) throws(StoreError) -> Bool {
    let view = try store.view()
    defer { view.close() }
    return try !Trees.check(view)
  }

  // MARK: Commits

  /// The tree with a name; made if there is none.
  ///
  /// - Throws: as the contract says.
  public func tree(named name: String, order: KeyOrder) async throws(StoreError) -> TreeID {
    let durability = traits.durability
    return try await run { (engine) throws(StoreError) in
      try engine.committer.tree(name, order, durability)
    }
  }

  /// Applies edits whole or not at all.
  ///
  /// - Throws: as the contract says.
  public func commit(
    _ edits: [StorageEdit], _ durability: Durability
  ) async throws(StoreError) -> CommitReceipt {
    try requireOwnProcess()
    let result = await withCheckedContinuation { continuation in
      submit(
        .commit(
          PackedEngine.Pending(edits: edits, durability: durability) {
            continuation.resume(returning: $0)
          }))
    }
    return try result.get()
  }

  /// Applies edits, and holds the calling thread meanwhile.
  ///
  /// - Throws: as the contract says.
  public func commitAndWait(
    _ edits: [StorageEdit], _ durability: Durability
  ) throws(StoreError) -> CommitReceipt {
    try requireOwnProcess()
    try requireOtherWork()
    let answer = Monitor<Result<CommitReceipt, StoreError>?>(nil)
    submit(
      .commit(
        PackedEngine.Pending(edits: edits, durability: durability) { result in
          answer.change { $0 = result }
        }), here: true)
    return try answer.wait { $0 }.get()
  }

  /// Queues work; a commit or task that comes after `close` is answered with `closed`.
  ///
  /// - Parameter here: whether it may be done at once on the calling thread.
  private func submit(_ work: PackedEngine.Work, here: Bool = false) {
    guard !(here ? thread.perform(work) : thread.submit(work)) else { return }
    switch work {
    case .commit(let pending): pending.reply(.failure(Self.closed))
    case .task(let task): task(.failure(Self.closed))
    case .tidy(_, let reply): reply(.failure(Self.closed))
    }
  }

  /// Refuses a call that waits within the store's own work, since it would wait for itself.
  private func requireOtherWork() throws(StoreError) {
    guard !thread.isWorking else {
      throw StoreError(
        .invalid,
        "A call waits for the store within the store's own work, as in withStore: make it before or "
          + "after that, or without waiting.")
    }
  }

  /// Whether this process opened the store, and is no child of a fork of it.
  var isOwnProcess: Bool { Platform.processStamp == process }

  /// Refuses the child of a fork. It has the open files but neither the store's thread nor its
  /// lock, so its changes could collide with the parent's.
  func requireOwnProcess() throws(StoreError) {
    guard isOwnProcess else {
      throw StoreError(
        .invalid,
        "This process was forked from the one that opened the store: open stores after a fork, or "
          + "start a program instead.")
    }
  }

  private static var closed: StoreError {
    StoreError(.closed, "The store was closed: open it again.")
  }

  /// Runs something on the store's thread.
  func run<R: Sendable>(
    _ body: @escaping @Sendable (PackedEngine) throws(StoreError) -> R
  ) async throws(StoreError) -> R {
    try requireOwnProcess()
    let result: Result<R, StoreError> = await withCheckedContinuation { continuation in
      submit(
        .task { engine in
          do throws(StoreError) {
            continuation.resume(returning: .success(try body(engine.get())))
          } catch {
            continuation.resume(returning: .failure(error))
          }
        })
    }
    return try result.get()
  }

  /// Makes every commit up to this one survive power loss.
  ///
  /// - Throws: as the contract says.
  public func harden(_ upTo: CommitID) async throws(StoreError) {
    try await run { (engine) throws(StoreError) in try engine.writer.harden(upTo) }
  }

  // MARK: Reads

  /// Reads the node at a path. A leaf that was read before and has not changed is returned from
  /// memory, without a view of the store.
  ///
  /// - Throws: as the contract says.
  public func node(_ tree: TreeID, _ path: Path) throws(StoreError) -> Node {
    try requireOwnProcess()
    if let leaf = engine.leaves.leafFromMemory(tree, path) { return leaf }
    return try readNewest { (snapshot) throws(StoreError) in
      try TreeReader(snapshot, tree).node(path, .all)
    }
  }

  /// Reads one consistent state.
  ///
  /// The closure is called again when a damaged record of a cache was set aside, and at most once
  /// when a commit came between an answer from memory and the opening of the store's view.
  ///
  /// - Throws: what the closure throws, and as the contract says.
  public func read<R>(_ body: (any StorageView) throws(StoreError) -> R) throws(StoreError) -> R {
    try readPacked(body)
  }

  /// Reads one moment with all that a packed backend can read.
  func readPacked<R>(_ body: (PackedView) throws(StoreError) -> R) throws(StoreError) -> R {
    try requireOwnProcess()
    return try readNewest { (snapshot) throws(StoreError) in
      try body(PackedView(snapshot, keepsIndexes: !traits.isEncrypted))
    }
  }

  /// Reads the newest generation; the store's view is opened when memory does not have what is
  /// asked for.
  ///
  /// When a commit came between an answer from memory and the opening of the view, the closure is
  /// called again, with the view opened first.
  private func readNewest<R>(
    _ body: (LeafSnapshot) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try repairing { () throws(StoreError) in
      var opensFirst = false
      while true {
        let snapshot = engine.leaves.snapshot()
        defer { snapshot.close() }
        do throws(StoreError) {
          if opensFirst || snapshot.generation == nil { try snapshot.open() }
          let result = try body(snapshot)
          if !snapshot.isTorn { return result }
        } catch {
          if !snapshot.isTorn { throw error }
        }
        opensFirst = true
      }
    }
  }

  /// Reads one consistent state of the store, and again each time a damaged record was set aside.
  func reading<R>(_ body: (LeafSnapshot) throws(StoreError) -> R) throws(StoreError) -> R {
    try requireOwnProcess()
    return try repairing { () throws(StoreError) in
      let snapshot = try engine.leaves.openSnapshot()
      defer { snapshot.close() }
      return try body(snapshot)
    }
  }

  /// Runs a closure that reads, and again each time a repair removed the damage that it met.
  private func repairing<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
    do throws(StoreError) {
      return try engine.policy.retrying { (_) throws(StoreError) in
        try body()
      } repair: { (place) throws(StoreError) in
        // A repair is work of the store, so it cannot run within other work.
        guard !thread.isWorking else { return }
        // Other commits may come between the commits of a repair.
        var repair = RepairProgress(place)
        while !repair.isDone {
          let begun = repair
          repair = try waiting { (engine) throws(StoreError) in try engine.repairer.step(begun) }
        }
      } recover: { () throws(StoreError) in
        guard !thread.isWorking else { return false }
        return try waiting { (engine) throws(StoreError) in try engine.repairer.recover() }
      }
    } catch {
      // The store's thread reports damage that was met and stays.
      if engine.policy.left.hasUnreported { submit(.task { _ in }) }
      throw error
    }
  }

  /// Runs something on the store's thread, and blocks the calling thread until it is done.
  func waiting<R: Sendable>(
    _ body: @escaping @Sendable (PackedEngine) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try requireOtherWork()
    let answer = Monitor<Result<R, StoreError>?>(nil)
    submit(
      .task { engine in
        do throws(StoreError) {
          let result = try body(engine.get())
          answer.change { $0 = .success(result) }
        } catch {
          answer.change { $0 = .failure(error) }
        }
      })
    return try answer.wait { $0 }.get()
  }

  /// Sets the handler that is called each time a report of damage is stored, and at once for those
  /// that were stored since opening while there was none.
  public func observeIncidents(_ handler: (@Sendable () -> Void)?) {
    engine.incidentObserver.set(handler)
  }

  /// What the files take.
  ///
  /// - Throws: as the contract says.
  public func size() throws(StoreError) -> StoreSize {
    try requireOwnProcess()
    return try store.size()
  }

  // MARK: Life

  /// Trains a dictionary for a tree if one is worthwhile, folds deltas, joins small runs, repacks
  /// runs that a newer dictionary makes smaller, and lets the store free space.
  ///
  /// Training takes up to about 100 ms on the caller's thread, whatever the slice; commits continue
  /// meanwhile. The slice ends early when a commit waits.
  ///
  /// - Throws: as the contract says.
  public func tidy(_ slice: Duration) async throws(StoreError) -> Bool {
    // When nothing was committed since the last complete pass, nothing is read at all.
    let wasTidy = try await run { (engine) in engine.housekeeper.isTidy }
    if !wasTidy { _ = try await train() }
    let isMore = try await withCheckedContinuation { continuation in
      submit(.tidy(slice) { continuation.resume(returning: $0) })
    }.get()
    if isMore || wasTidy { return isMore }
    // After repacking, the measured ratio may show that a new dictionary is due.
    return try await train()
  }

  /// Trains a dictionary if one is due; false when none is.
  private func train() async throws(StoreError) -> Bool {
    guard let training = try trained() else { return false }
    try await run { (engine) throws(StoreError) in try engine.store(training) }
    return true
  }

  /// The result of training on a tree's data; nil for an authority with damaged data.
  private func trained() throws(StoreError) -> Training? {
    do throws(StoreError) {
      return try repairing { () throws(StoreError) in try trainer.train() }
    } catch {
      guard engine.policy.leavesAsIs(error) else { throw error }
      return nil
    }
  }

  /// Releases every file lock until `resume()`.
  ///
  /// - Throws: as the contract says.
  public func suspend() async throws(StoreError) {
    try await run { (engine) throws(StoreError) in try engine.suspend() }
  }

  /// Takes the locks again.
  ///
  /// - Throws: as the contract says.
  public func resume() async throws(StoreError) {
    try await run { (engine) throws(StoreError) in _ = try engine.resume() }
  }

  /// Makes all commits durable and closes.
  ///
  /// - Throws: as the contract says.
  public func close() async throws(StoreError) {
    // The child of a fork has no thread to end.
    try requireOwnProcess()
    defer { thread.end() }
    do throws(StoreError) {
      try await run { (engine) throws(StoreError) in try engine.close() }
    } catch {
      // Another caller closed it first.
      guard error.code == .closed else { throw error }
    }
  }
}
