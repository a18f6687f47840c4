import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

extension LeafStore {
  /// The leaf at a path, if memory knows it at the newest generation. Nil also when the path is not
  /// a leaf, or is one that is stored in chunks.
  func leafFromMemory(_ tree: TreeID, _ path: Path) -> Node? {
    guard path.last?.isPriority != true, let generation = generations.newest else { return nil }
    let known = generations.object(Spaces.system, tree, at: generation) as? KnownTree
    guard let known else { return nil }
    return generations.leaf(tree, PathKey.encode(path, known.info.order), at: generation)
  }
}

extension Generations {
  /// The leaf with a path key, if its run is known at a generation. Nil also when the key is not a
  /// leaf's, or the leaf is stored in chunks.
  func leaf(_ tree: TreeID, _ key: Bytes, at generation: UInt64) -> Node? {
    guard let run = withRuns({ $0.nearest(tree, key, at: generation) }) else { return nil }
    guard let index = run.index(of: key),
      case .leaf(let leaf, let priority) = run.entries.leaf(index)
    else { return nil }
    return Node(leaf, priority: priority)
  }
}

extension RunReader {
  /// The leaf with a path key, if memory knows its run at the snapshot's generation.
  func leafFromMemory(_ key: Bytes) -> Node? {
    view.memorySnapshot?.fromMemory { memory, generation in
      memory.leaf(tree, key, at: generation)
    }
  }
}
