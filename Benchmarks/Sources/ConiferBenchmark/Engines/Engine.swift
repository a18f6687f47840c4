package import ConiferTree

/// An open store as the workloads use it: of trees, or of rows with one leaf each.
///
/// Methods that make an `Operation` prepare a commit; only the operation itself is timed.
package protocol Engine: AnyObject, Sendable {
  /// Replaces a room, and notes that it was used.
  func loading(_ path: String, _ node: Node, use: UInt64) -> Operation
  /// Replaces a node.
  func storing(_ path: String, _ node: Node) -> Operation
  /// Sets leaves, or deletes those without a value.
  func updating(_ changes: [(path: String, value: Int64?)]) -> Operation
  /// Queues writes; returns the last one's number.
  func enqueueing(_ writes: [SmallWrite]) -> Operation
  /// Takes a write out of its queue and stores what it changed.
  func acknowledging(_ write: SmallWrite, _ number: UInt64) -> Operation
  /// Protects rooms from eviction.
  func pinning(_ paths: [String]) -> Operation
  /// Evicts the least recently used rooms that are not pinned, until half of the bytes are evicted.
  func evictingHalf() throws -> Operation

  /// Reads a subtree into a node.
  func node(_ path: String) throws -> Node
  /// Reads one leaf.
  func leaf(_ path: String) throws -> Leaf?
  /// The keys of the children of a node with the greatest values of a child of theirs, ascending, with
  /// each child read.
  func last(_ count: Int, by child: String, of path: String, indexed: Bool) throws -> [String]
  /// Keeps an index for `last`; false when the engine has none.
  func makeIndex(of path: String, by child: String, _ node: Node) async throws -> Bool

  /// A checksum of the content that does not depend on order.
  func digest() throws -> Digest
  /// The bytes of live data, when the engine knows them.
  func liveBytes() throws -> Int?
  /// Gives space back to the system, as the engine does it.
  func reclaim() async throws
  func close() async throws
}

extension Engine {
  /// Reads a subtree into a node; returns the number of its leaves.
  package func leaves(_ path: String) throws -> Int { try node(path).leafCount }
}

extension Node {
  /// Looks at every leaf: the bytes of all text, and 1 for any other value.
  package var looked: Int {
    switch leaf {
    case .string(let text): text.utf8.count
    case .some: 1
    case nil: children.reduce(0) { $0 + $1.node.looked }
    }
  }
}

/// A store's content, comparable between engines.
package struct Digest: Hashable, Sendable, Codable {
  /// Leaves of the tree.
  package var leaves = 0
  /// Queued writes.
  package var writes = 0
  /// The sum of all their hashes, in hexadecimal.
  package var sum = ""

  package init(leaves: Int = 0, writes: Int = 0, sum: UInt64 = 0) {
    self.leaves = leaves
    self.writes = writes
    self.sum = String(sum, radix: 16)
  }
}
