internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// The small fixed program that runs on failing disks: each kind of call, at each durability.
struct FaultProgram: Sendable {
  /// One call, or two that belong together.
  enum Step: Sendable {
    case tree(String, KeyOrder)
    case commit(Durability, @Sendable (TreeID) -> [StorageEdit])
    case documents(Durability, [TreeProgram.Change])
    case harden
    case tidy
    case suspend
    case reopen

    /// Whether what was committed survives a power cut after it.
    var isDurable: Bool {
      switch self {
      case .commit(.power, _), .documents(.power, _), .harden: true
      default: false
      }
    }

    /// The step in words, for messages.
    var words: String {
      switch self {
      case .tree(let name, _): "making the tree \(name)"
      case .commit(let durability, _): "a commit at .\(durability)"
      case .documents(let durability, _): "a commit of documents at .\(durability)"
      case .harden: "hardening"
      case .tidy: "tidying"
      case .suspend: "suspending and resuming"
      case .reopen: "closing and opening"
      }
    }
  }

  static let treeName = "first"

  let steps: [Step]

  /// The program for stores with a strongest durability, and with documents where the backend keeps some.
  init(_ strongest: Durability, _ documents: TreeProgram.Documents?) {
    func change(_ durability: Durability, _ kinds: DocumentChange.Kind...) -> [Step] {
      guard let documents else { return [] }
      let changes = kinds.filter { documents.indexing || $0 != .index }.enumerated().map {
        TreeProgram.Change.documents(DocumentChange(kind: $1, seed: UInt64($0 + kinds.count)))
      }
      return [.documents(min(durability, strongest), changes)]
    }
    let first: [Step] = documents == nil ? [] : [.tree(DocumentChange.tree, .documents)]
    func commit(
      _ durability: Durability, _ edits: @escaping @Sendable (TreeID) -> [StorageEdit]
    ) -> Step { .commit(min(durability, strongest), edits) }
    let begin: [Step] = [
      .tree(Self.treeName, .realtimeDatabase),
      commit(.power) { tree in
        [
          .overwrite(tree, "rooms", Self.rooms(3)),
          .saveQuery(TrackedQuery(tree: tree, path: "rooms/r1", isComplete: true, lastUse: 1)),
          .pin(Pin(tree: tree, path: "rooms/r2")),
        ]
      },
      commit(.process) { tree in
        (1...3).map { .enqueue(Lane(tree: tree), .set(Path("out/w\($0)"), "value")) }
      },
      commit(.power) {
        [.enqueue(Lane(tree: $0, identity: "ada"), .set("big", Self.text(20_000)))]
      },
      commit(.process) { [.overwrite($0, "large", Self.text(90_000))] },
      commit(.relaxed) { [.overwrite($0, "rooms/r0/m1", "changed")] },
      commit(.process) { tree in
        [
          .finish(Lane(tree: tree), WriteID(rawValue: 1), .acknowledged),
          .overwrite(tree, "out/w1", "value"),
          .setState(Lane(tree: tree), WriteID(rawValue: 2), .sent),
        ]
      },
    ]
    let middle: [Step] = [
      .harden, .tidy,
      // What is not durable yet is made so by suspending, and below by closing.
      commit(.process) { [.overwrite($0, "rooms/r0/m2", "before suspending")] }, .suspend,
      commit(.power) { tree in
        [
          .overwrite(tree, "large", .empty),
          .setTrackedKeys(tree, QueryID(rawValue: 1), ["m1", "m2"]),
        ]
      },
      commit(.relaxed) { [.overwrite($0, "rooms/r0/m3", "before closing")] }, .reopen,
      commit(.power) { tree in
        [
          .finish(Lane(tree: tree), WriteID(rawValue: 2), .acknowledged),
          .finish(Lane(tree: tree), WriteID(rawValue: 3), .discarded),
          .purge(Lane(tree: tree, identity: "ada")),
        ]
      },
    ]
    let end: [Step] = [
      commit(.relaxed) { [.prune($0, PruneForest([.root: .prune, "rooms/r1": .keep]))] },
      .tidy,
      commit(.process) { [.unpin(Pin(tree: $0, path: "rooms/r2"))] },
      commit(.power) { [.enqueue(Lane(tree: $0), .set("last", 1))] },
    ]
    steps =
      begin + first + change(.power, .put, .index, .put, .match, .put)
      + change(.process, .enqueue, .enqueue, .enqueue, .enqueue, .match) + middle
      + change(.power, .answer, .answer, .reject, .put, .answer)
      + change(.relaxed, .queueAgain, .replace, .forget, .removeQuery) + end
      + change(.process, .purge)
  }

  /// Rooms of noise, which does not compress.
  static func rooms(_ count: Int) -> Node {
    Node(
      children: (0..<count).map { room in
        var random = SeededRandom(seed: UInt64(room + 1))
        return (
          Key("r\(room)"),
          Node(children: (0..<40).map { (Key("m\($0)"), random.noise(100)) })
        )
      })
  }

  /// An incompressible text.
  static func text(_ count: Int, seed: UInt64 = 5) -> Node {
    var random = SeededRandom(seed: seed)
    return random.noise(count)
  }
}
