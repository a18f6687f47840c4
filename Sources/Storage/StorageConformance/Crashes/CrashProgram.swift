internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// An endless program. A seed and a step's number determine the step, so another process can
/// continue the program from any step.
struct CrashProgram: Sendable {
  /// One call, or a few that belong together.
  enum Step: Sendable {
    case commit([TreeProgram.Change], Durability)
    /// Wipes a tree and makes it anew.
    case wipe(Int, Durability)
    case tidy
    case harden
    case suspend
    case reopen
  }

  let seed: UInt64
  /// The strongest durability of a commit.
  let strongest: Durability
  /// Whether it wipes trees, and closes and opens the store.
  let isWhole: Bool
  /// What it does with documents; nil where none are kept.
  var documents: TreeProgram.Documents?

  /// The trees beside the ledger.
  var trees: [(name: String, order: KeyOrder)] {
    let nodes = StepLog.trees.map { (name: $0, order: KeyOrder.realtimeDatabase) }
    return documents == nil ? nodes : nodes + [(DocumentChange.tree, .documents)]
  }

  /// The step with a number, from 1.
  func step(_ number: Int) -> Step {
    var random = SeededRandom(seed: seed &* 0x1_0000_0001 &+ UInt64(number))
    // The first random numbers of adjacent seeds are similar.
    _ = random.next()
    let levels = Durability.allCases.filter { $0 <= strongest }
    switch Int.random(in: 0..<30, using: &random) {
    case 0: return .tidy
    case 1: return .harden
    case 2: return .suspend
    case 3 where isWhole: return .reopen
    case 4 where isWhole && random.one(in: 2):
      let tree = documents != nil && random.one(in: 3) ? TreeProgram.documents : random.tree()
      return .wipe(tree, random.pick(levels))
    default: return .commit(changes(&random), random.pick(levels))
    }
  }

  /// Changes of nodes, of documents, or of both in one commit.
  func changes(_ random: inout SeededRandom) -> [TreeProgram.Change] {
    guard let documents, random.one(in: 2) else { return random.changes() }
    return random.documentChanges(indexing: documents.indexing)
      + (random.one(in: 3) ? random.changes() : [])
  }
}

/// The state of a store after a commit of a ``CrashProgram``.
struct CrashState: Sendable {
  let model: StorageModel
  /// The commit that led to it; empty for the first state and for those that created a tree.
  var edits: [StorageEdit] = []
  /// The number of the newest step that changed something, as the store itself remembers it.
  let step: Int
}

/// The tree in which every commit of a ``CrashProgram`` stores the number of its step.
enum StepLog {
  static let tree = "ledger"
  static let trees = ["first", "second"]
  private static let name = "step"

  /// The edit that stores a step's number.
  static func note(_ step: Int, _ tree: TreeID) -> StorageEdit {
    .setMetadata(tree, name, key(step))
  }

  /// The number of the newest step in a store; 0 when there is none.
  static func step(_ view: any StorageView) throws(StoreError) -> Int {
    guard let tree = try view.trees().first(where: { $0.name == Self.tree }),
      let bytes = try view.metadata(tree.id, name)
    else { return 0 }
    return bytes.reduce(0) { $0 << 8 | Int($1) }
  }
}
