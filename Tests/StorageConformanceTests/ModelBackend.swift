import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferTree
import StorageConformance
import Synchronization

/// The kit's model behind the contract: a second implementation that the checks must find right,
/// and, with a defect, one that they must find wrong.
final class ModelBackend: DocumentBackend {
  /// What a broken backend does wrong.
  enum Defect: String, CaseIterable, Sendable {
    /// Leaves out the last edit of a commit of several.
    case dropsLastEdit
    /// Keeps the edits before an invalid one.
    case tearsCommits
    /// Begins again with 1 when a lane is empty.
    case forgetsNumbers
    /// Prunes pinned data.
    case ignoresPins
    /// Answers a second read of a path with what the first one saw.
    case readsStale
    /// Stores no priority of interior nodes.
    case losesPriorities
    /// Stores every number as a double.
    case losesIntegers
    /// Gives rejected writes as waiting ones.
    case mixesRejected
    /// Loses the newest commit when it closes.
    case losesTail
    /// Makes one lane of identities that begin alike.
    case mixesLanes
    /// Remembers each finished write for ever, and counts it.
    case neverForgets
    /// Loses what waits in a queue when it tidies.
    case losesQueueAtTidying
    /// Forgets a pin when it closes.
    case forgetsPins
    /// Counts a leaf too few once there are several.
    case miscountsUsage
    /// Gives the number of a removed query to the next one.
    case reusesQueryNumbers
    /// Finds what was removed by an index that still names it.
    case forgetsIndexRows
    /// Answers queries without their bounds.
    case ignoresBounds
    /// Finds documents by the entry of an index that stayed behind.
    case leavesIndexEntries
    /// Shows everybody the writes that were made before anybody signed in.
    case mixesOverlays
    /// Brings documents back that the server said are missing, when it tidies.
    case resurrectsMissing
    /// Queues a write to a document and does not show it.
    case forgetsOverlays
    /// Keeps documents among the matches of a query that they match no more.
    case leavesMatches
    /// Takes a query for the tracked one with its number, whoever tracks it.
    case sharesTargets
    /// Answers queries of documents without their start and their end.
    case ignoresCursors
    /// Answers a tracked query from its matches, and overlooks what else matches by now.
    case trustsMatches
  }

  private struct State {
    var model = StorageModel()
    var before = StorageModel()
    var isSuspended = false
    var isClosed = false
    var stale: [Path: Node] = [:]
  }

  /// What stands for the disk: models by directory, and who has opened them.
  private static let disk = Mutex<(stored: [String: StorageModel], open: Set<String>)>(([:], []))

  let traits: BackendTraits
  private let directory: String
  private let defect: Defect?
  private let state: Mutex<State>

  static let store = StoreTraits(
    longestKey: .max, bestValueSize: 4096, writeQuantum: 1, strongest: .process,
    isPersistent: true)

  /// A factory of models with a defect or without.
  static func factory(_ defect: Defect? = nil) -> BackendFactory {
    BackendFactory(
      name: defect.map { "model that \($0)" } ?? "model", declared: store,
      options: StorageOptions(compression: .none, durability: .process), keepsDocuments: true
    ) { (directory, options) throws(StoreError) in
      try ModelBackend(directory, options, defect)
    }
  }

  init(_ directory: String, _ options: StorageOptions, _ defect: Defect?) throws(StoreError) {
    let (isNew, stored) = Self.disk.withLock {
      ($0.open.insert(directory).inserted, $0.stored[directory])
    }
    guard isNew else { throw StoreError(.busy, "It is open.") }
    let durability: Durability
    do throws(StoreError) {
      durability = try options.durability.level(in: Self.store)
    } catch {
      _ = Self.disk.withLock { $0.open.remove(directory) }
      throw error
    }
    self.directory = directory
    self.defect = defect
    var state = State()
    state.model = stored ?? state.model
    state.before = state.model
    self.state = Mutex(state)
    traits = BackendTraits(
      name: "model", store: Self.store, role: options.role, compression: options.compression,
      durability: durability, budget: options.budget, format: 1)
  }

  deinit { _ = Self.disk.withLock { $0.open.remove(directory) } }

  func tree(named name: String, order: KeyOrder) async throws(StoreError) -> TreeID {
    try change { (state) throws(StoreError) in try state.model.tree(named: name, order: order) }
  }

  func commit(
    _ edits: [StorageEdit], _ durability: Durability
  ) async throws(StoreError) -> CommitReceipt {
    guard durability <= traits.store.strongest else {
      throw StoreError(.unsupported, "The model is in memory.")
    }
    return try change { (state) throws(StoreError) in
      state.before = state.model
      return try commit(edits, &state.model)
    }
  }

  private func commit(
    _ edits: [StorageEdit], _ model: inout StorageModel
  ) throws(StoreError) -> CommitReceipt {
    switch defect {
    case .dropsLastEdit where edits.count > 1:
      var copy = model
      let receipt = try copy.commit(edits)
      _ = try model.commit(Array(edits.dropLast()))
      return receipt
    case .tearsCommits:
      for index in edits.indices.dropLast() { _ = try model.commit([edits[index]]) }
      return try model.commit(Array(edits.suffix(1)))
    case .ignoresPins:
      return try model.commit(
        edits.flatMap { edit -> [StorageEdit] in
          guard case .prune(let tree, _) = edit else { return [edit] }
          let pins = model.trees[tree]?.pins ?? []
          return pins.map { .unpin($0) } + [edit] + pins.map { .pin($0) }
        })
    case .losesPriorities:
      let receipt = try model.commit(edits)
      for (id, tree) in model.trees { model.trees[id]?.root = tree.root.withoutInteriorPriorities }
      return receipt
    case .losesIntegers:
      let receipt = try model.commit(edits)
      for (id, tree) in model.trees { model.trees[id]?.root = tree.root.withDoubles }
      return receipt
    case .forgetsNumbers:
      let receipt = try model.commit(edits)
      for (id, tree) in model.trees {
        for (identity, lane) in tree.lanes where lane.writes.isEmpty {
          model.trees[id]?.lanes[identity]?.newest = 0
        }
      }
      return receipt
    case .reusesQueryNumbers:
      let receipt = try model.commit(edits)
      for (id, tree) in model.trees {
        model.trees[id]?.lastQuery = tree.queries.keys.max()?.rawValue ?? 0
      }
      return receipt
    case .leavesMatches:
      return try model.commit(edits.map(\.withoutRemovedMatches))
    case .mixesLanes:
      return try model.commit(edits.map(\.inMixedLane))
    default:
      return try model.commit(edits)
    }
  }

  func harden(_ upTo: CommitID) async throws(StoreError) { try change { _ in } }

  func read<R>(_ body: (any StorageView) throws(StoreError) -> R) throws(StoreError) -> R {
    try readDocuments { (view) throws(StoreError) in try body(view) }
  }

  func readDocuments<R>(
    _ body: (any DocumentView) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    let state = try change { ($0.model, $0.before) }
    guard let defect else { return try body(ModelView(state.0)) }
    return try body(BrokenView(ModelView(state.0), defect, self, before: ModelView(state.1)))
  }

  @discardableResult
  func setActive(_ isActive: Bool, _ query: QueryID, in tree: TreeID) -> Bool { true }
  func observeIncidents(_ handler: (@Sendable () -> Void)?) {}

  func size() throws(StoreError) -> StoreSize {
    try checkOpen()
    return StoreSize(live: 1 << 30, free: 0, file: 1 << 30)
  }

  func tidy(_ slice: Duration) async throws(StoreError) -> Bool {
    try change { state in
      if defect == .resurrectsMissing { state.model.resurrect() }
      guard defect == .losesQueueAtTidying else { return false }
      for (id, tree) in state.model.trees {
        for identity in tree.lanes.keys {
          state.model.trees[id]?.lanes[identity]?.writes.removeAll { !$0.isRejected }
        }
      }
      return false
    }
  }

  func suspend() async throws(StoreError) {
    try checkOpen()
    state.withLock { $0.isSuspended = true }
  }

  func resume() async throws(StoreError) {
    try checkOpen()
    state.withLock { $0.isSuspended = false }
  }

  func close() async throws(StoreError) {
    let model = state.withLock { state -> StorageModel? in
      defer { state.isClosed = true }
      return state.isClosed ? nil : defect == .losesTail ? state.before : state.model
    }
    guard var model else { return }
    if defect == .forgetsPins {
      for id in model.trees.keys { _ = model.trees[id]?.pins.popLast() }
    }
    Self.disk.withLock {
      $0.stored[directory] = model
      $0.open.remove(directory)
    }
  }

  /// A node as it was before the newest commit.
  func before(_ tree: TreeID, _ path: Path) -> Node {
    let model = state.withLock { $0.before }
    return (try? ModelView(model).node(tree, path, .all)) ?? .empty
  }

  /// What a stale cache answers.
  func stale(_ path: Path, _ node: Node) -> Node {
    state.withLock { state in
      defer { state.stale[path] = state.stale[path] ?? node }
      return state.stale[path] ?? node
    }
  }

  private func checkOpen() throws(StoreError) {
    if state.withLock({ $0.isClosed }) { throw StoreError(.closed, "It was closed.") }
  }

  private func change<R: Sendable>(
    _ body: (inout State) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try state.withLock { (state) throws(StoreError) in
      if state.isClosed { throw StoreError(.closed, "It was closed.") }
      if state.isSuspended { throw StoreError(.suspended, "It is suspended.") }
      return try body(&state)
    }
  }
}

extension Node {
  /// The node without the priorities of interior nodes.
  fileprivate var withoutInteriorPriorities: Node {
    isLeaf ? self : Node(children: children.map { ($0.key, $0.node.withoutInteriorPriorities) })
  }

  /// The node with every number as a double.
  fileprivate var withDoubles: Node {
    if let leaf {
      guard let number = leaf.number else { return self }
      return Node(.double(number), priority: priority)
    }
    return Node(children: children.map { ($0.key, $0.node.withDoubles) }, priority: priority)
  }
}

extension StorageModel {
  /// Makes found documents of all that are missing.
  fileprivate mutating func resurrect() {
    for (id, tree) in trees {
      for (path, document) in tree.documents.known where document.state == .missing {
        trees[id]?.documents.known[path] = Document(
          path, .found([:]), version: document.version, readTime: document.readTime)
      }
    }
  }
}

extension StorageEdit {
  /// The edit without what no query matches any more.
  fileprivate var withoutRemovedMatches: StorageEdit {
    guard case .documents(let tree, let edits) = self else { return self }
    return .documents(
      tree,
      edits.map { edit in
        guard case .updateMatches(let id, let added, _) = edit else { return edit }
        return .updateMatches(id, added: added, removed: [])
      })
  }

  /// The edit in the lane of the identity's first letter.
  fileprivate var inMixedLane: StorageEdit {
    func mixed(_ lane: Lane) -> Lane {
      Lane(tree: lane.tree, identity: String(lane.identity.prefix(1)))
    }
    return switch self {
    case .enqueue(let lane, let content): .enqueue(mixed(lane), content)
    case .setState(let lane, let id, let state): .setState(mixed(lane), id, state)
    case .finish(let lane, let id, let outcome): .finish(mixed(lane), id, outcome)
    case .purge(let lane): .purge(mixed(lane))
    default: self
    }
  }
}
