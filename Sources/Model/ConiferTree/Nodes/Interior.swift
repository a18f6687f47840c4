import Synchronization

/// A node with children: its map, its priority, and its hash once somebody asked for it.
final class Interior: Sendable {
  let root: Chunk
  let priority: Priority?
  private let box = AtomicLazyReference<DigestBox>()

  init(root: Chunk, priority: Priority?) {
    self.root = root
    self.priority = priority
  }

  /// The node's hash, if somebody computed it.
  var digest: SHA1.Digest? { box.load()?.digest }

  /// Stores the node's hash. Threads that compute it at the same time get the same result.
  func keep(_ digest: SHA1.Digest) { _ = box.storeIfNil(DigestBox(digest)) }
}

/// The twenty bytes of a SHA-1, as an object that can be published atomically.
private final class DigestBox: Sendable {
  let digest: SHA1.Digest
  init(_ digest: SHA1.Digest) { self.digest = digest }
}

/// A leaf with a priority, kept apart so that a node stays small.
final class PrioritisedLeaf: Sendable {
  let leaf: Leaf
  let priority: Priority
  init(_ leaf: Leaf, _ priority: Priority) {
    self.leaf = leaf
    self.priority = priority
  }
}
