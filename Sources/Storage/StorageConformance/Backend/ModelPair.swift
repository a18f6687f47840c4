internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// A backend beside the model: both get the same commits and must have the same state. There are
/// two trees.
final class ModelPair {
  let fixture: BackendFixture
  private(set) var backend: any StorageBackend
  var model = StorageModel()
  /// The model before the newest commit.
  private var previous = StorageModel()
  /// The two trees: checks use the first one, and the second one must stay unchanged.
  private(set) var trees: [TreeID] = []
  /// A tree of documents, once a check has made one.
  var documents: TreeID?
  /// The queries that are listened to.
  var active: Set<StorageModel.QueryName> = []
  /// All queries that ever existed. The backend decides when it stores their last uses.
  var used: Set<StorageModel.QueryName> = []
  /// The queries saved without a last use since the backend was opened. The backend may count them
  /// as just used.
  private(set) var saved: Set<StorageModel.QueryName> = []

  var tree: TreeID { trees[0] }
  var other: TreeID { trees[1] }
  /// The anonymous lane of the first tree.
  var lane: Lane { Lane(tree: tree) }

  init(_ fixture: BackendFixture, _ backend: any StorageBackend) async throws {
    self.fixture = fixture
    self.backend = backend
    for name in ["first", "second"] { trees.append(try await makeTree(name)) }
    try require(trees[0] != trees[1], "two trees have one number")
  }

  func makeTree(_ name: String, _ order: KeyOrder = .realtimeDatabase) async throws -> TreeID {
    let id = try await backend.tree(named: name, order: order)
    try require(
      try model.tree(named: name, order: order, id: id) == id,
      "the tree \(name) changed its number")
    return id
  }

  /// Commits to both, and compares the receipts.
  @discardableResult
  func commit(_ edits: [StorageEdit]) async throws -> CommitReceipt {
    previous = model
    let expected = try model.commit(edits)
    let receipt = try await backend.commit(edits)
    try require(
      receipt.writes == expected.writes && receipt.queries == expected.queries,
      "the receipt names \(receipt.writes) and \(receipt.queries), "
        + "not \(expected.writes) and \(expected.queries)")
    var queries = receipt.queries.makeIterator()
    for case .saveQuery(let query) in edits {
      guard let id = queries.next(), query.lastUse == 0 else { continue }
      saved.insert(StorageModel.QueryName(tree: query.tree, query: id))
    }
    return receipt
  }

  @discardableResult
  func commit(_ edits: StorageEdit...) async throws -> CommitReceipt { try await commit(edits) }

  /// Overwrites a node of the first tree in both.
  func set(_ path: Path, _ node: Node) async throws {
    try await commit(.overwrite(tree, path, node))
  }

  /// Requires that a commit is refused as `invalid` and changes nothing.
  func refuse(_ what: String, _ edits: StorageEdit...) async throws {
    try await expect(.invalid, what) { () throws(StoreError) in
      try await self.backend.commit(edits)
    }
    try requireSame("after \(what) was refused")
  }

  /// Wipes a tree and makes it anew.
  func wipe(_ index: Int) async throws {
    if index == TreeProgram.documents { return try await wipeDocuments() }
    try await commit(.wipe(trees[index]))
    trees[index] = try await makeTree(["first", "second"][index])
  }

  /// Requires that the backend's whole state is the model's.
  func requireSame(_ when: @autoclosure () -> String = "") throws {
    if !used.isEmpty { try adoptUses() }
    let model = ModelView(model)
    let difference = try backend.readAll { (view) throws(StoreError) in
      try StateDifference(view, model).first()
    }
    if let difference { throw ConformanceFailure("\(difference) \(when())") }
  }

  /// Requires that a snapshot of the first tree equals an expected node, and the model's.
  ///
  /// - Parameter ofModel: false where the model did not get the commits.
  func requireNode(
    _ path: Path, _ slice: NodeSlice = .all, is expected: Node, ofModel: Bool = true
  ) throws {
    let found = try read(path, slice)
    if let difference = found.difference(from: expected) {
      let before = try? ModelView(previous).node(tree, path, slice)
      let isStale = ofModel && before.map { found.difference(from: $0) == nil } == true
      throw ConformanceFailure(
        isStale ? .staleView : .broken, "the snapshot at \(path) is wrong: \(difference)")
    }
    guard ofModel else { return }
    if let difference = try ModelView(model).node(tree, path, slice).difference(from: expected) {
      throw ConformanceFailure("the kit's model is wrong at \(path): \(difference)")
    }
  }

  /// A snapshot of the first tree. A whole node must be equal when it is read without a view.
  func read(_ path: Path, _ slice: NodeSlice = .all) throws -> Node {
    let tree = tree
    let found = try backend.read { (view) throws(StoreError) in try view.node(tree, path, slice) }
    guard case .all = slice else { return found }
    if let difference = try backend.node(tree, path).difference(from: found) {
      throw ConformanceFailure(
        .staleView, "the node at \(path), read alone, is another one: \(difference)")
    }
    return found
  }

  /// Closes the backend and opens it again; does nothing for a store that is not persistent.
  func reopen(_ change: (inout StorageOptions) -> Void = { _ in }) async throws {
    guard fixture.factory.declared.isPersistent else { return }
    try await backend.close()
    backend = try fixture.open(change)
    active = []
    saved = []
  }
}
