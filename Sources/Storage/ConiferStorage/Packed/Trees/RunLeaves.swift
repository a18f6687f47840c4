import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// The entries of a run, for nodes that were read and whose leaves are not decoded yet.
final class RunLeaves: LeafDecoder {
  private let entries: EntryList
  /// By position in their node.
  private let names: ContiguousArray<Key>

  /// Leaves of a run's entries.
  ///
  /// - Parameter names: the names of all leaves of each node that is asked for.
  init(_ entries: EntryList, names: ContiguousArray<Key>) {
    self.entries = entries
    self.names = names
  }

  /// The leaves of entries that are the children of one node.
  func leaves(_ first: Int, _ end: Int) -> ContiguousArray<Node.Child> {
    var leaves = ContiguousArray<Node.Child>()
    leaves.reserveCapacity(end - first)
    entries.lend { entries in
      for (index, name) in zip(first..<end, names) {
        // The code that counted the leaves has checked that they are valid.
        if case .leaf(let leaf, nil) = entries.leaf(index) { leaves.append((name, Node(leaf))) }
      }
    }
    return leaves
  }
}
