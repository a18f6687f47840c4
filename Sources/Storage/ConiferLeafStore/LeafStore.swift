@_spi(Stores) package import ConiferKeyValue
package import Synchronization

/// The leaves of an ordered store: how they are packed, and what is kept of them in memory.
///
/// Snapshots read them, on any thread. Transactions change them: one at a time, whichever thread makes it.
package final class LeafStore: Sendable {
  package let store: any OrderedStore
  package let codec: Codec
  /// How long the store's keys may be, without the space byte.
  package let longestKey: Int
  package let generations: Generations
  package let dictionaries = DictionaryCache()
  /// How runs are cut and packed, with the compression ratios of those that were written.
  package let sizing: Mutex<RunSizing>

  /// Finds the followers of a tree.
  let findFollowers: FindFollowers

  /// Whether the leaves of a tree are mostly read one by one.
  let readsSingly: @Sendable (LeafTransaction, TreeID) throws(StoreError) -> Bool

  /// Finds the followers of a tree within a commit, such as its indexes.
  package typealias FindFollowers =
    @Sendable (LeafTransaction, TreeID) throws(StoreError) ->
    [any LeafFollower]

  /// - Parameters:
  ///   - level: of zstd, at which housekeeping packs new bodies; nil packs nothing.
  ///   - cache: about how many bytes of decoded runs are kept; 0 keeps none.
  ///   - readsSingly: whether the leaves of a tree are mostly read one by one.
  ///   - findFollowers: finds what follows a tree's leaves, such as its indexes.
  package init(
    _ store: any OrderedStore, level: Int?, cache: Int = 0,
    readsSingly: @escaping @Sendable (LeafTransaction, TreeID) throws(StoreError) -> Bool = {
      _, _ in false
    },
    findFollowers: @escaping FindFollowers = { _, _ in [] }
  ) {
    self.store = store
    self.findFollowers = findFollowers
    self.readsSingly = readsSingly
    codec = Codec(level: level)
    longestKey = store.traits.longestKey
    generations = Generations(cache: cache)
    sizing = Mutex(RunSizing(store.traits, packs: level != nil))
  }

  /// Separators of at least this length are cut, and distinguished by an ordinal of eight bytes.
  package var cutLength: Int { longestKey == .max ? .max : longestKey - 4 - 8 }

  /// The newest generation; the store is asked for it when it is first needed.
  package func snapshot() -> LeafSnapshot { LeafSnapshot(self) }

  /// The newest generation, opened at once.
  ///
  /// - Throws: as `OrderedStore.view`.
  package func openSnapshot() throws(StoreError) -> LeafSnapshot {
    let snapshot = LeafSnapshot(self)
    try snapshot.open()
    return snapshot
  }

  /// A transaction on the newest generation.
  ///
  /// - Throws: as `OrderedStore.view`.
  package func transaction() throws(StoreError) -> LeafTransaction {
    LeafTransaction(try openSnapshot())
  }

  /// Stores what a transaction changed, and publishes the next generation.
  ///
  /// - Throws: as `OrderedStore.apply`.
  package func apply(
    _ tx: LeafTransaction, _ batch: Batch, _ durability: Durability
  ) throws(StoreError) -> CommitID {
    var learnt = tx.sizing
    learnt.effort = .quick
    sizing.withLock { $0 = learnt }
    generations.begin()
    do throws(StoreError) {
      let commit = try store.apply(batch, durability)
      generations.publish(tx.state)
      return commit
    } catch {
      generations.publishUnknown()
      throw error
    }
  }

  /// Changes the store without a transaction, and forgets what memory knows.
  ///
  /// - Throws: what the closure throws.
  package func change<R>(
    _ body: (any OrderedStore) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    generations.begin()
    defer { generations.publishUnknown() }
    return try body(store)
  }
}

extension StoreError.Code {
  /// A snapshot would return data of two generations. The code that made it reads again with a new
  /// one, so callers never see this code.
  static let torn = StoreError.Code(rawValue: "torn")
}

/// A state of the leaves that can be read: a snapshot, or a transaction.
package protocol LeafView: OrderedView {
  var leaves: LeafStore { get }
  /// The snapshot whose cached objects and runs may be used; nil for a transaction, whose edits are
  /// not in the cache.
  var memorySnapshot: LeafSnapshot? { get }
}

/// One generation of a store, for one reader.
///
/// The store's view is opened at the first question that memory cannot answer. If memory has
/// answered before, and the store has a newer generation by then, the snapshot is torn: its answers
/// come from two generations and must not be used.
package final class LeafSnapshot: LeafView, @unchecked Sendable {
  // Unchecked: a view is read by one thread at a time.

  /// The source of answers; the generation is nil when it is not known.
  private enum Source {
    /// Memory alone so far: of this generation, if it has answered a question.
    case memory(UInt64?, hasAnswered: Bool)
    /// From the view, or from memory of the same generation.
    case view(any OrderedView, UInt64?)
    /// From memory first, then from a view of another generation.
    case torn(any OrderedView)
    case closed
  }

  package let leaves: LeafStore
  private var source: Source

  /// A snapshot of the newest generation.
  package init(_ leaves: LeafStore) {
    self.leaves = leaves
    source = .memory(leaves.generations.newest, hasAnswered: false)
  }

  /// A snapshot of an open view, whose generation is not known.
  package init(_ leaves: LeafStore, _ view: any OrderedView) {
    self.leaves = leaves
    source = .view(view, nil)
  }

  /// The generation that is read; nil when it is not known.
  package var generation: UInt64? {
    switch source {
    case .memory(let generation, _), .view(_, let generation): generation
    case .torn, .closed: nil
    }
  }

  /// Whether answers came from two generations.
  package var isTorn: Bool { if case .torn = source { true } else { false } }

  package var memorySnapshot: LeafSnapshot? { self }

  /// The store's view; opens it.
  ///
  /// - Throws: as `OrderedStore.view`; `torn`.
  @discardableResult
  package func open() throws(StoreError) -> any OrderedView {
    switch source {
    case .view(let view, _): return view
    case .torn: throw Self.torn
    case .closed:
      throw StoreError(.closed, "The view was used after its read: read what you need inside.")
    case .memory(let generation, let hasAnswered):
      let before = leaves.generations.stable
      let view = try leaves.store.view()
      // When no commit came while the view was opened, it shows that generation.
      let opened = before.flatMap { $0 == leaves.generations.stable ? $0 : nil }
      if hasAnswered, opened == nil || opened != generation {
        source = .torn(view)
        throw Self.torn
      }
      source = .view(view, opened)
      return view
    }
  }

  private static var torn: StoreError {
    StoreError(.torn, "A commit came in between: read again.")
  }

  package func close() {
    switch source {
    case .view(let view, _), .torn(let view): view.close()
    case .memory, .closed: break
    }
    source = .closed
  }

  // MARK: Memory

  /// What memory knows at this generation; nil when it knows nothing of it.
  ///
  /// - Parameter ask: asks memory, at a generation.
  package func fromMemory<R>(_ ask: (Generations, UInt64) -> R?) -> R? {
    guard let generation, let answer = ask(leaves.generations, generation) else { return nil }
    if case .memory = source { source = .memory(generation, hasAnswered: true) }
    return answer
  }

  /// An object made of a tree's record; kept in memory until the record changes.
  ///
  /// - Parameters:
  ///   - key: the record's.
  ///   - make: makes it of the record as it is stored.
  /// - Throws: what the closure throws.
  package func object(
    _ space: Space, _ tree: TreeID, _ key: @autoclosure () -> Bytes,
    _ make: () throws(StoreError) -> any AnyObject & Sendable
  ) throws(StoreError) -> any AnyObject & Sendable {
    if let known = fromMemory({ $0.object(space, tree, at: $1) }) { return known }
    let object = try make()
    if let generation { leaves.generations.keep(object, space, tree, key(), at: generation) }
    return object
  }

  // MARK: The store

  package func get<R>(_ space: Space, _ key: Bytes, _ read: (RawSpan) -> R) throws(StoreError) -> R?
  {
    try open().get(space, key, read)
  }

  package func walk(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, RawSpan) -> Step
  ) throws(StoreError) {
    try open().walk(space, origin, visit)
  }

  package func walkKeys(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int) -> Step
  ) throws(StoreError) {
    try open().walkKeys(space, origin, visit)
  }

  package func walkLocked(
    _ space: Space, _ origin: Origin, _ visit: (RawSpan, Int, MissingKey) -> Step
  ) throws(StoreError) {
    try open().walkLocked(space, origin, visit)
  }
}

/// What is in memory of the newest generation of a store: decoded runs, and objects made of records.
/// Safe on any thread.
///
/// A generation is the state of a store between two changes. Each kept object has the number of the
/// generation at which it was read, and holds from there up to the newest one: a change removes what it
/// changed in the same step that publishes the next generation.
package final class Generations: Sendable {
  private enum Phase {
    /// Nobody changes the store.
    case stable
    /// A change is being stored; the next generation is not published yet.
    case changing
    /// The store is suspended or closed: nothing is known of it.
    case stopped
  }

  private struct State {
    var number: UInt64 = 1
    var phase = Phase.stable
    var runs: RunCache
    var objects = ObjectCache()
  }

  private let state: Mutex<State>

  /// - Parameter cache: about how many bytes of decoded runs are kept.
  package init(cache: Int) { state = Mutex(State(runs: RunCache(budget: cache))) }

  /// The newest published generation, also while a change is being stored; nil while the store is suspended
  /// or closed.
  package var newest: UInt64? { state.withLock { $0.phase == .stopped ? nil : $0.number } }

  /// The newest generation; nil while a change is being stored, when a view may already show the next one.
  package var stable: UInt64? { state.withLock { $0.phase == .stable ? $0.number : nil } }

  // MARK: Changing

  /// Called before a change is stored.
  package func begin() {
    state.withLock { if $0.phase == .stable { $0.phase = .changing } }
  }

  /// Publishes the next generation, which differs from the last by some changes.
  package func publish(_ changes: LeafTransaction.State) {
    state.withLock { state in
      state.number += 1
      for (space, records) in changes.edits {
        switch space {
        case Spaces.runs: records.forEach { state.runs.change($0, isGone: $1 == nil) }
        case Spaces.deltas: records.forEach { key, _ in state.runs.changeDeltas(key) }
        default:
          guard state.objects.has(space) else { continue }
          records.forEach { key, _ in state.objects.remove(space, key) }
        }
      }
      for (space, cleared) in changes.cleared {
        // Rare: a tree is wiped, or large.
        if space == Spaces.runs || space == Spaces.deltas { state.runs.forgetAll() }
        for range in cleared.ranges { state.objects.remove(space, from: range.from, to: range.to) }
      }
      if state.phase == .changing { state.phase = .stable }
    }
  }

  /// Publishes the next generation, in which anything may have changed.
  package func publishUnknown() {
    state.withLock { state in
      state.number += 1
      state.runs.forgetAll()
      state.objects = ObjectCache()
      if state.phase == .changing { state.phase = .stable }
    }
  }

  /// Makes what memory knows unusable until `resume`: the store is suspended or closed.
  package func stop() { state.withLock { $0.phase = .stopped } }

  /// The store was opened again, and may have changed meanwhile.
  package func resume() {
    publishUnknown()
    state.withLock { $0.phase = .stable }
  }

  // MARK: Objects

  /// The object of a tree's record, if it is known at a generation.
  package func object(
    _ space: Space, _ tree: TreeID, at generation: UInt64
  ) -> (any AnyObject & Sendable)? {
    state.withLock { $0.objects.find(space, tree, at: generation) }
  }

  /// Keeps an object made of a record as it was at a generation, if that is still the newest one.
  package func keep(
    _ object: any AnyObject & Sendable, _ space: Space, _ tree: TreeID, _ key: Bytes,
    at generation: UInt64
  ) {
    state.withLock { state in
      guard state.number == generation else { return }
      state.objects.add(object, space, tree, key, at: generation)
    }
  }

  // MARK: Runs

  /// Does something with the decoded runs.
  package func withRuns<R: Sendable>(_ body: (inout RunCache) -> R) -> R {
    state.withLock { body(&$0.runs) }
  }

  /// Records that a generation has a run as it is kept, if that is still the newest generation.
  package func confirm(_ tree: TreeID, _ run: DecodedRun, at generation: UInt64) {
    state.withLock { state in
      guard state.number == generation else { return }
      state.runs.confirm(tree, run, at: generation)
    }
  }

  /// Records which run comes after another at a generation, if that is still the newest one.
  package func setNext(
    _ next: RunHead?, after storeKey: Bytes, _ tree: TreeID, at generation: UInt64
  ) {
    state.withLock { state in
      guard state.number == generation else { return }
      state.runs.setNext(next, after: storeKey, tree, at: generation)
    }
  }
}
