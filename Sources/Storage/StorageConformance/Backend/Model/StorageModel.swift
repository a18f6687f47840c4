package import ConiferKeyValue
package import ConiferStorage
package import ConiferTree

/// The contract of a backend as a simple model: values in memory, searched linearly.
///
/// A backend is correct when it gives the same answers. Text is kept as UTF-8 bytes, since Swift
/// treats canonically equivalent strings as equal.
package struct StorageModel: Sendable {
  /// A lane of the outbound queue.
  package struct LaneState: Sendable {
    /// The writes that are not finished, by number.
    package var writes: [QueueEntry] = []
    /// How each finished write ended.
    package var finished: [WriteID: FinishedWrite] = [:]
    /// The highest number that was ever given.
    package var newest: UInt64 = 0
  }

  /// A tree with all that belongs to it.
  package struct Tree: Sendable {
    package let info: TreeInfo
    package var root = Node.empty
    package var queries: [QueryID: TrackedQuery] = [:]
    package var keys: [QueryID: Set<Key>] = [:]
    package var lastQuery: UInt64 = 0
    package var pins: [Pin] = []
    package var indexes: [IndexDefinition] = []
    package var documents = Documents()
    package var lanes: [Bytes: LaneState] = [:]
    package var metadata: [Bytes: Bytes] = [:]
  }

  package var trees: [TreeID: Tree] = [:]
  package var lastTree: UInt32 = 0
  package var lastCommit: UInt64 = 0
  package var incidents: [Incident] = []
  /// New writes of a lane without any records get numbers above this one.
  package var queueFloor: UInt64 = 0

  /// A store that holds nothing.
  package init() {}

  /// The tree with a name, created if missing, under the given number or the next one.
  package mutating func tree(
    named name: String, order: KeyOrder, id: TreeID? = nil
  ) throws(StoreError) -> TreeID {
    guard (1...256).contains(name.utf8.count) else {
      throw StoreError(.invalid, "A tree's name has 1 to 256 bytes.")
    }
    if let there = trees.values.first(where: { $0.info.name.utf8.elementsEqual(name.utf8) }) {
      guard there.info.order == order else {
        throw StoreError(.invalid, "The tree has another order.")
      }
      return there.info.id
    }
    lastTree = max(lastTree + 1, id?.rawValue ?? 0)
    let new = id ?? TreeID(rawValue: lastTree)
    trees[new] = Tree(info: TreeInfo(id: new, name: name, order: order))
    return new
  }

  func tree(_ id: TreeID) throws(StoreError) -> Tree {
    guard let tree = trees[id] else { throw StoreError(.invalid, "There is no such tree.") }
    return tree
  }

  func lane(_ lane: Lane) throws(StoreError) -> LaneState {
    try tree(lane.tree).lanes[Array(lane.identity.utf8)] ?? LaneState()
  }
}

extension QueueEntry {
  /// Whether the server refused it.
  package var isRejected: Bool { if case .rejected = state { true } else { false } }
}

extension String {
  /// Whether the bytes are the same; `==` treats canonically equivalent strings as equal.
  func sameBytes(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
