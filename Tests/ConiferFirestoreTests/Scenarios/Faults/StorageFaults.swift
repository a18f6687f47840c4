import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import Synchronization
import TestSupport

/// Which uses of a store are refused now; the store may be opened again meanwhile.
final class StorageFaults: Sendable {
  private struct State {
    var refused: Set<StorageUse> = []
    /// The actions that fail, and what was refused since they do.
    var actions: [StorageAction] = []
    var met: Set<StorageUse> = []
    /// What the uses that are refused fail with.
    var code = StoreError.Code.io
    /// A use that is refused once, and how many times it is not before.
    var once: (use: StorageUse, uses: Int)?
    /// A document that is never stored, and why.
    var document: (path: DocumentPath, code: StoreError.Code)?
    /// A document that a later version stored.
    var later: DocumentPath?
    /// Whether the process is over whose engine still ends: it stores nothing any more.
    var isOver = false
    /// The lane that was used last.
    var lane: Lane?
    /// The values of metadata in commits that may be lost with the power, and those that survive that.
    var soft: [(commit: CommitID, value: [UInt8])] = []
    var hard: Set<[UInt8]> = []
    /// Where the edits of commits are noted that are not refused.
    var notes: Gathered<[StorageEdit]>?
    /// What is done behind each commit.
    var behind: @Sendable ([StorageEdit]) -> Void = { _ in }
    /// How often the store was used, since this was last asked.
    var counts: [StorageUse: Int] = [:]

    mutating func harden(_ commit: CommitID) {
      hard.formUnion(soft.lazy.filter { $0.commit <= commit }.map(\.value))
      soft.removeAll { $0.commit <= commit }
    }
  }

  private let state = Mutex(State())

  // MARK: What fails

  /// Actions fail from now on, and no others.
  func fail(_ actions: [StorageAction]) {
    let refused = actions.reduce(into: Set()) { $0.formUnion(StorageUse.table[$1] ?? []) }
    state.withLock { state in
      (state.refused, state.code) = (refused, .io)
      (state.actions, state.met) = (actions, [])
    }
  }

  /// The actions that fail now and that nobody has tried.
  var untried: [StorageAction] {
    state.withLock { state in
      state.actions.filter { state.met.isDisjoint(with: StorageUse.table[$0] ?? []) }
    }
  }

  /// Uses fail from now on, and no others.
  func fail(_ uses: StorageUse..., code: StoreError.Code = .io) {
    state.withLock { ($0.refused, $0.code) = (Set(uses), code) }
  }

  /// One use fails, and no later one.
  func failOnce(_ use: StorageUse, after uses: Int = 0) {
    state.withLock { $0.once = (use, uses) }
  }

  /// From now on the edits of commits are noted.
  func note(in notes: Gathered<[StorageEdit]>) { state.withLock { $0.notes = notes } }

  /// From now on something is done behind each commit.
  func doBehindCommits(_ body: @escaping @Sendable ([StorageEdit]) -> Void) {
    state.withLock { $0.behind = body }
  }

  /// How often the store was used so since this was last asked.
  func takeCount(of use: StorageUse) -> Int {
    state.withLock { $0.counts.removeValue(forKey: use) ?? 0 }
  }

  /// A later version has stored a document.
  func setLater(_ path: DocumentPath) { state.withLock { $0.later = path } }

  /// - Throws: `newerFormat` for a document that a later version stored.
  func check(_ path: DocumentPath) throws(StoreError) {
    if state.withLock({ $0.later == path }) {
      throw StoreError(.newerFormat, "A later version stored \(path), says the test.")
    }
  }

  /// A document is refused from now on.
  func refuse(_ path: DocumentPath, _ code: StoreError.Code) {
    state.withLock { $0.document = (path, code) }
  }

  /// The process that uses the store is over, or the next one begins.
  func setOver(_ isOver: Bool) { state.withLock { $0.isOver = isOver } }

  /// - Throws: `io` when the use is refused, unless the test says otherwise.
  func check(_ use: StorageUse) throws(StoreError) {
    if isRefused(use) { throw Self.failure(use, state.withLock { $0.code }) }
  }

  func isRefused(_ use: StorageUse) -> Bool {
    state.withLock { state in
      state.counts[use, default: 0] += 1
      guard let once = state.once, once.use == use else {
        let isRefused = state.refused.contains(use)
        if isRefused { state.met.insert(use) }
        return isRefused
      }
      state.once = once.uses > 0 ? (use, once.uses - 1) : nil
      return once.uses == 0
    }
  }

  /// Notes that a lane is used.
  ///
  /// - Throws: `io` when it is another one than before, and that is refused.
  func check(_ lane: Lane) throws(StoreError) {
    let isRefused = state.withLock { state in
      if state.refused.contains(.otherLane), let known = state.lane, known != lane {
        state.met.insert(.otherLane)
        return true
      }
      state.lane = lane
      return false
    }
    if isRefused { throw Self.failure(.otherLane) }
  }

  /// - Parameter isTracked: whether the store knows a query.
  /// - Throws: `io` when one of the edits is refused.
  func check(
    _ edits: [StorageEdit], isTracked: (TrackedQuery) throws(StoreError) -> Bool
  ) throws(StoreError) {
    if state.withLock({ $0.isOver }) {
      throw StoreError(.io, "The process is over that wanted to store something.")
    }
    let isEvent = edits.contains { $0.storesEvent }
    for edit in edits {
      switch edit {
      case .saveQuery(let query):
        try check(try isTracked(query) ? .knownQuery(inEvent: isEvent) : .newQuery)
      case .removeQuery: try check(.endOfQuery)
      case .documents(_, let edits):
        // A document in limbo may be forgotten because the server refused it.
        if edits.areOfMatches { try check(.completeness) } else { try check(.documents) }
        if edits.forget { try check(.completeness) }
        try check(edits)
      case .enqueue(let lane, _):
        try check(lane)
        try check(.enqueue)
      case .finish(let lane, _, let outcome):
        try check(lane)
        if case .acknowledged = outcome { try check(.acknowledgement) }
      case .setState(let lane, _, let state):
        try check(lane)
        if case .rejected = state { try check(.rejection) }
      case .setMetadata: try check(.metadata)
      default: break
      }
    }
    state.withLock { $0.notes }?.add(edits)
  }

  // MARK: What survives a loss of power

  /// A commit was made.
  func committed(_ edits: [StorageEdit], _ commit: CommitID, _ durability: Durability) {
    state.withLock { state in
      for case .setMetadata(_, _, let value?) in edits { state.soft.append((commit, value)) }
      if durability == .power { state.harden(commit) }
    }
    state.withLock { $0.behind }(edits)
  }

  /// All commits up to one survive a loss of power.
  func hardened(_ commit: CommitID) { state.withLock { $0.harden(commit) } }

  /// Whether a value of metadata survives a loss of power.
  func survivesPower(_ value: [UInt8]) -> Bool { state.withLock { $0.hard.contains(value) } }

  // MARK: Checks

  private func check(_ edits: [DocumentEdit]) throws(StoreError) {
    guard let refused = state.withLock({ $0.document }) else { return }
    for case .put(let document) in edits where document.path == refused.path {
      throw StoreError(refused.code, "The test has the store refuse \(document.path).")
    }
  }

  private static func failure(
    _ use: StorageUse, _ code: StoreError.Code = .io
  ) -> StoreError {
    StoreError(code, "The case has the store refuse \(use).")
  }
}

extension StorageEdit {
  /// Whether it stores what the server said of documents or matches; that matches are whole is known without it.
  fileprivate var storesEvent: Bool {
    guard case .documents(_, let edits) = self else { return false }
    return edits.contains { if case .setMatchesVersion = $0 { false } else { true } }
  }
}

extension [DocumentEdit] {
  /// Whether they tell as of when matches are whole, and nothing else.
  fileprivate var areOfMatches: Bool {
    !isEmpty && allSatisfy { if case .setMatchesVersion = $0 { true } else { false } }
  }

  /// Whether they forget documents, and nothing else.
  fileprivate var forget: Bool {
    !isEmpty && allSatisfy { if case .forget = $0 { true } else { false } }
  }
}
