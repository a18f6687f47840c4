internal import ConiferStorage
internal import ConiferTree

/// A list of steps made from a seed. After each, a backend must be in the model's state.
///
/// Steps name writes and queries by their position among those that exist, so a program stays valid
/// when steps are removed from it.
struct TreeProgram: Sendable {
  /// One call, or a few that belong together.
  enum Step: Sendable {
    case commit([Change])
    /// The same with an edit in the middle that must be refused.
    case refused([Change])
    /// A commit, and others at the same time that must be refused.
    case beside([Change], refused: [Change])
    case reopen
    case suspend
    case tidy
    case wipe(Int)
    /// Asks queries of documents that a seed chooses.
    case ask(UInt64)
    /// Evicts to a percentage of the cache's size.
    case evict(percent: Int)
    /// Begins or ends listening to a query.
    case listen(Int, pick: Int, Bool)
    case explain(Int, Path)
  }

  /// An edit that does not yet name actual trees, writes and queries.
  enum Change: Sendable {
    case overwrite(Int, Path, Node)
    case merge(Int, Path, [WriteContent.Change])
    case prune(Int, [Path: PruneForest.Marker])
    case saveQuery(Int, Path, String, isComplete: Bool, lastUse: UInt64)
    case removeQuery(Int, pick: Int)
    case setKeys(Int, pick: Int, [Key])
    case updateKeys(Int, pick: Int, added: [Key], removed: [Key])
    case pin(Int, Path)
    case unpin(Int, pick: Int)
    case metadata(Int, String, [UInt8]?)
    case enqueue(Int, String, WriteContent)
    case restore(Int, String, ahead: Int, WriteContent)
    case replace(Int, String, pick: Int, WriteContent)
    case advance(Int, String, pick: Int)
    case finish(Int, String, pick: Int, choice: Int)
    case purge(Int, String)
    case documents(DocumentChange)
  }

  /// The place of the tree of documents, behind the others.
  static let documents = 2

  var steps: [Step]
  /// Whether there is a tree of documents.
  let hasDocuments: Bool

  /// The program of a seed.
  ///
  /// - Parameter evicting: whether data is evicted, listened to and explained along the way.
  init(seed: UInt64, length: Int, evicting: Bool = false) {
    var random = SeededRandom(seed: seed)
    hasDocuments = false
    steps = (0..<length).map { _ in
      if evicting, random.chance(35) { return random.eviction() }
      return switch Int.random(in: 0..<40, using: &random) {
      case 0, 1: .reopen
      case 2: .suspend
      case 3, 4: .tidy
      case 5: random.one(in: 3) ? .wipe(random.tree()) : .reopen
      case 6, 7: .refused(random.changes())
      default: .commit(random.changes())
      }
    }
  }
}

extension TreeProgram {
  /// What a program of documents has beside commits.
  struct Documents {
    /// Whether documents are evicted along the way.
    var evicting = false
    /// Whether indexes are declared; an encrypted store keeps none.
    var indexing = true
  }

  /// A program of documents, with some nodes beside them.
  init(seed: UInt64, length: Int, _ documents: Documents) {
    var random = SeededRandom(seed: seed)
    hasDocuments = true
    steps = (0..<length).map { _ in
      if documents.evicting, random.one(in: 8) { return random.evictionOfDocuments() }
      let changes = { (random: inout SeededRandom) in
        random.documentChanges(indexing: documents.indexing)
          + (random.one(in: 6) ? random.changes() : [])
      }
      return switch Int.random(in: 0..<40, using: &random) {
      case 0: .reopen
      case 1: .suspend
      case 2, 3: .tidy
      case 4: random.one(in: 3) ? .wipe(Self.documents) : .tidy
      case 5, 6: .refused(changes(&random))
      case 7, 8: .beside(changes(&random), refused: changes(&random))
      case 9...13: .ask(random.next())
      default: .commit(changes(&random))
      }
    }
  }
}

extension BackendFactory {
  /// What programs do with documents; nil where the backend keeps none.
  var documents: TreeProgram.Documents? {
    keepsDocuments
      ? TreeProgram.Documents(evicting: evicts, indexing: options.encryption == nil) : nil
  }
}

extension SeededRandom {
  /// Mostly the first of two trees.
  mutating func tree() -> Int { chance(80) ? 0 : 1 }

  /// A step that evicts, listens or explains.
  mutating func eviction() -> TreeProgram.Step {
    switch Int.random(in: 0..<6, using: &self) {
    case 0, 1: .evict(percent: pick([0, 20, 50, 50, 80, 95, 100]))
    case 2, 3: .listen(tree(), pick: Int.random(in: 0..<100, using: &self), chance(50))
    default: .explain(tree(), path(3))
    }
  }

  /// A step that evicts, or listens to a query of documents.
  fileprivate mutating func evictionOfDocuments() -> TreeProgram.Step {
    if one(in: 2) { return .evict(percent: pick([0, 20, 50, 80, 95])) }
    return .listen(TreeProgram.documents, pick: Int.random(in: 0..<100, using: &self), chance(50))
  }

  mutating func changes() -> [TreeProgram.Change] {
    (0..<pick([1, 1, 1, 2, 3, 6])).map { _ in change() }
  }

  private mutating func change() -> TreeProgram.Change {
    let tree = tree()
    let identity = pick(["", "a", "ab"])
    let number = Int.random(in: 0..<100, using: &self)
    switch Int.random(in: 0..<60, using: &self) {
    case 0..<16:
      let change = edit()
      return .overwrite(tree, change.path, change.node)
    case 16..<21:
      return .merge(tree, path(2), (0..<pick([0, 1, 2, 4])).map { _ in edit() })
    case 21..<24:
      let markers = (0..<pick([1, 2, 4])).map { _ in
        (path(3), chance(65) ? PruneForest.Marker.prune : .keep)
      }
      return .prune(tree, Dictionary(markers) { $1 })
    case 24..<28:
      return .saveQuery(
        tree, path(3), pick(["default", "{\"l\":2}", "{\"i\":\".key\"}"]), isComplete: chance(50),
        lastUse: UInt64(number))
    case 28: return .removeQuery(tree, pick: number)
    case 29, 30: return .setKeys(tree, pick: number, someKeys())
    case 31, 32:
      let added = Set(someKeys())
      return .updateKeys(
        tree, pick: number, added: added.sorted(),
        removed: someKeys().filter { !added.contains($0) })
    case 33: return .pin(tree, path(3))
    case 34: return .unpin(tree, pick: number)
    case 35: return .metadata(tree, pick(["m", "n"]), chance(70) ? [UInt8(number)] : nil)
    case 36..<46: return .enqueue(tree, identity, content())
    case 46, 47: return .restore(tree, identity, ahead: number % 3, content())
    case 48, 49: return .replace(tree, identity, pick: number, content())
    case 50..<56: return .advance(tree, identity, pick: number)
    case 56..<59: return .finish(tree, identity, pick: number, choice: pick([0, 0, 1, 2]))
    default: return .purge(tree, identity)
    }
  }

  /// A path and the node to write there; rarely a priority.
  private mutating func edit() -> WriteContent.Change {
    let path = path(4)
    guard chance(6) else { return .init(path, anyNode()) }
    let priority = chance(70) ? priority().map { Node($0.leaf) } : nil
    return .init(path.appending(.priority), priority ?? .empty)
  }

  private mutating func someKeys() -> [Key] {
    (0..<pick([0, 1, 3, 5, 60])).map { chance(60) ? key() : Key("k\($0)") }
  }

  private mutating func content() -> WriteContent {
    let base = path(3)
    let time = Int64.random(in: 0...9, using: &self)
    let id = (0..<pick([0, 0, 16])).map { UInt8($0) }
    switch Int.random(in: 0..<4, using: &self) {
    case 0:
      return WriteContent(
        kind: .update, path: base,
        changes: (0..<pick([0, 1, 3, 8])).map { _ in
          .init(base.appending(path(4)), node(depth: 2, width: 3))
        }, idempotencyID: id, time: time)
    case 1:
      return WriteContent(
        kind: .transaction, path: base, changes: [.init(base, leaf())],
        preconditions: [.init(path: base, hash: pick(["", "h="]))], idempotencyID: id, time: time)
    default:
      let target = chance(10) ? base.appending(.priority) : base
      return WriteContent(
        kind: .set, path: target, changes: [.init(target, anyNode())], idempotencyID: id, time: time
      )
    }
  }
}
