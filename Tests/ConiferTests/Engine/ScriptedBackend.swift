import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferTree
import Synchronization

/// A backend over another one that counts what is read of its queue, and fails when told to.
final class ScriptedBackend: StorageBackend {
  /// What a test sees and sets.
  final class Script: Sendable {
    struct State {
      var queueReads = 0
      /// How many slices of housekeeping were asked for.
      var slices = 0
      /// Why housekeeping cannot be done.
      var tidyFailure: StoreError?
      var cacheReads = 0
      /// How many nodes and children they gave.
      var nodesRead = 0
      var writesRead = 0
      var largestWindow = 0
      /// The edits of each commit, in words.
      var commits: [[String]] = []
      /// How many commits failed.
      var failures = 0
      var failure: StoreError?
      /// The edit, by its name, without which commits do not fail; nil for any.
      var failing: String?
      /// Whether commits that fail are made all the same.
      var makesFailing = false
      /// Whether nothing can be read from the first commit on that fails.
      var endsReads = false
      /// Why nothing can be read.
      var readFailure: StoreError?
      /// Why pins cannot be read.
      var pinFailure: StoreError?
      /// Why nothing can be made durable.
      var hardenFailure: StoreError?
      /// Why suspending fails, once the store has let go of its files.
      var suspensionFailure: StoreError?
      /// Whether only the next suspension fails.
      var suspensionFailsOnce = false
      /// Why the store cannot be taken again.
      var resumptionFailure: StoreError?
      /// Who waits for a commit to be durable, while that takes.
      var hardening: [CheckedContinuation<Void, Never>]?
    }

    private let state = Mutex(State())

    var counts: State { state.withLock { $0 } }
    func change<R: Sendable>(_ body: (inout sending State) -> sending R) -> R {
      state.withLock { body(&$0) }
    }
    /// Has commits fail, or no longer.
    ///
    /// - Parameter edit: the name of an edit; only commits that hold it fail.
    func fail(_ error: StoreError?, at edit: String? = nil) {
      state.withLock { ($0.failure, $0.failing) = (error, edit) }
    }
    /// Has all commits fail, of which nobody knows whether they are made.
    ///
    /// - Parameters:
    ///   - isMade: whether they are.
    ///   - isBlind: whether nothing can be read behind the first of them, until `heal`.
    func doubt(isMade: Bool, isBlind: Bool) {
      state.withLock {
        $0.failure = StoreError(.io, "The disk fails, as the test asked for.")
        ($0.failing, $0.makesFailing, $0.endsReads) = (nil, isMade, isBlind)
      }
    }
    /// Nothing fails any more.
    func heal() {
      state.withLock { state in
        (state.failure, state.failing, state.readFailure) = (nil, nil, nil)
        (state.makesFailing, state.endsReads) = (false, false)
      }
    }
    func reset() { state.withLock { $0 = State() } }
    /// Has nothing become durable from now on, without an answer.
    func holdHardening() { state.withLock { $0.hardening = [] } }
    /// Goes on with what waits to become durable.
    func releaseHardening() {
      let waiting = state.withLock { state in
        defer { state.hardening = nil }
        return state.hardening ?? []
      }
      for continuation in waiting { continuation.resume() }
    }

    fileprivate func harden() async throws(StoreError) {
      await withCheckedContinuation { continuation in
        let isHeld = state.withLock { state in
          state.hardening?.append(continuation)
          return state.hardening != nil
        }
        if !isHeld { continuation.resume() }
      }
      if let failure = counts.hardenFailure { throw failure }
    }
  }

  private let inner: any StorageBackend
  private let script: Script

  init(_ inner: any StorageBackend, _ script: Script) {
    self.inner = inner
    self.script = script
  }

  /// A storage whose backend is wrapped.
  static func configuration(
    _ storage: StorageConfiguration, _ script: Script
  ) -> StorageConfiguration {
    StorageConfiguration(
      name: storage.name, location: storage.location, options: storage.options
    ) { (options) throws(StoreError) in
      ScriptedBackend(try storage.with(options).open(), script)
    }
  }

  var traits: BackendTraits { inner.traits }

  func tree(named name: String, order: KeyOrder) async throws(StoreError) -> TreeID {
    try await inner.tree(named: name, order: order)
  }

  func commit(
    _ edits: [StorageEdit], _ durability: Durability
  ) async throws(StoreError) -> CommitReceipt {
    let words = edits.map { String("\($0)".prefix { $0 != "(" }) }
    let (failure, failing) = (script.counts.failure, script.counts.failing)
    if let failure, failing.map({ words.contains($0) }) ?? true {
      let isMade = script.change { state in
        state.failures += 1
        if state.endsReads { state.readFailure = failure }
        return state.makesFailing
      }
      if isMade { _ = try await inner.commit(edits, durability) }
      throw failure
    }
    script.change { $0.commits.append(words) }
    return try await inner.commit(edits, durability)
  }

  func harden(_ upTo: CommitID) async throws(StoreError) {
    try await script.harden()
    try await inner.harden(upTo)
  }

  func read<R>(_ body: (any StorageView) throws(StoreError) -> R) throws(StoreError) -> R {
    let script = script
    if let failure = script.counts.readFailure { throw failure }
    return try inner.read { (view) throws(StoreError) in try body(CountingView(view, script)) }
  }

  func size() throws(StoreError) -> StoreSize { try inner.size() }
  func setActive(_ isActive: Bool, _ query: QueryID, in tree: TreeID) -> Bool {
    inner.setActive(isActive, query, in: tree)
  }
  func observeIncidents(_ handler: (@Sendable () -> Void)?) { inner.observeIncidents(handler) }
  func tidy(_ slice: Duration) async throws(StoreError) -> Bool {
    script.change { $0.slices += 1 }
    if let failure = script.counts.tidyFailure { throw failure }
    return try await inner.tidy(slice)
  }
  func suspend() async throws(StoreError) {
    try await inner.suspend()
    let failure = script.change { state in
      defer { if state.suspensionFailsOnce { state.suspensionFailure = nil } }
      return state.suspensionFailure
    }
    if let failure { throw failure }
  }
  func resume() async throws(StoreError) {
    if let failure = script.counts.resumptionFailure { throw failure }
    try await inner.resume()
  }
  func close() async throws(StoreError) { try await inner.close() }
}

private final class CountingView: StorageView {
  private let view: any StorageView
  private let script: ScriptedBackend.Script

  init(_ view: any StorageView, _ script: ScriptedBackend.Script) {
    self.view = view
    self.script = script
  }

  func trees() throws(StoreError) -> [TreeInfo] { try view.trees() }
  func node(_ tree: TreeID, _ path: Path, _ slice: NodeSlice) throws(StoreError) -> Node {
    let node = try view.node(tree, path, slice)
    script.change {
      $0.cacheReads += 1
      $0.nodesRead += max(1, node.childCount)
    }
    return node
  }
  func childKeys(
    _ tree: TreeID, _ path: Path, after: Key?, limit: Int
  ) throws(StoreError) -> [Key] {
    script.change { $0.cacheReads += 1 }
    return try view.childKeys(tree, path, after: after, limit: limit)
  }
  func query(_ tree: TreeID, _ path: Path, _ spec: QuerySpec) throws(StoreError) -> QueryAnswer {
    let answer = try view.query(tree, path, spec)
    script.change {
      $0.cacheReads += 1
      $0.nodesRead += answer.children.count
    }
    return answer
  }
  func trackedQuery(
    _ tree: TreeID, _ path: Path, _ parameters: String
  ) throws(StoreError) -> StoredQuery? { try view.trackedQuery(tree, path, parameters) }
  func trackedQuery(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> TrackedQuery? {
    try view.trackedQuery(tree, id)
  }
  func trackedQueries(_ tree: TreeID, at path: Path) throws(StoreError) -> [StoredQuery] {
    try view.trackedQueries(tree, at: path)
  }
  func trackedQueries(_ tree: TreeID, below path: Path) throws(StoreError) -> [StoredQuery] {
    try view.trackedQueries(tree, below: path)
  }
  func trackedQueries(
    _ tree: TreeID, after: QueryID?, limit: Int
  ) throws(StoreError) -> [StoredQuery] {
    try view.trackedQueries(tree, after: after, limit: limit)
  }
  func trackedKeys(_ tree: TreeID, _ id: QueryID) throws(StoreError) -> [Key] {
    try view.trackedKeys(tree, id)
  }
  func pins(_ tree: TreeID) throws(StoreError) -> [Pin] {
    if let failure = script.counts.pinFailure { throw failure }
    return try view.pins(tree)
  }
  func lanes(_ tree: TreeID) throws(StoreError) -> [Lane] { try view.lanes(tree) }
  func totals(_ lane: Lane) throws(StoreError) -> QueueTotals { try view.totals(lane) }
  func entry(_ lane: Lane, _ id: WriteID) throws(StoreError) -> QueueEntry? {
    note(reads: 1, writes: 1)
    return try view.entry(lane, id)
  }
  func entries(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [QueueEntry] {
    let found = try view.entries(lane, after: after, limit: limit)
    note(reads: 1, writes: found.count)
    return found
  }
  func rejectedEntries(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [QueueEntry] {
    let found = try view.rejectedEntries(lane, after: after, limit: limit)
    note(reads: 1, writes: found.count)
    return found
  }
  func pendingWrites(_ lane: Lane, touching path: Path) throws(StoreError) -> [WriteID] {
    note(reads: 1, writes: 0)
    return try view.pendingWrites(lane, touching: path)
  }
  func finishedWrite(_ lane: Lane, _ id: WriteID) throws(StoreError) -> FinishedWrite? {
    try view.finishedWrite(lane, id)
  }
  func finishedWrites(
    _ lane: Lane, after: WriteID?, limit: Int
  ) throws(StoreError) -> [FinishedWrite] {
    try view.finishedWrites(lane, after: after, limit: limit)
  }
  func queueFloor() throws(StoreError) -> WriteID? { try view.queueFloor() }
  func lastQuery(_ tree: TreeID) throws(StoreError) -> QueryID? { try view.lastQuery(tree) }
  func metadataNames(
    _ tree: TreeID, after: String?, limit: Int
  ) throws(StoreError) -> [String] { try view.metadataNames(tree, after: after, limit: limit) }
  func indexes(_ tree: TreeID) throws(StoreError) -> [IndexStatus] { try view.indexes(tree) }
  func metadata(_ tree: TreeID, _ name: String) throws(StoreError) -> [UInt8]? {
    try view.metadata(tree, name)
  }
  func usage(_ tree: TreeID?) throws(StoreError) -> StorageUsage { try view.usage(tree) }
  func incidents(
    after position: IncidentPosition, limit: Int, where isWanted: (Incident) -> Bool
  ) throws(StoreError) -> IncidentWindow {
    try view.incidents(after: position, limit: limit, where: isWanted)
  }
  func incidentPosition() throws(StoreError) -> IncidentPosition { try view.incidentPosition() }

  private func note(reads: Int, writes: Int) {
    script.change { state in
      state.queueReads += reads
      state.writesRead += writes
      state.largestWindow = max(state.largestWindow, writes)
    }
  }
}
