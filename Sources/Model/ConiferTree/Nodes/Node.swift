/// An immutable tree of data: nothing, a leaf, or a map of keys to nodes.
///
/// Copies are free, and a changed node shares every subtree the change did not touch. A node that
/// is not empty may have a priority. An interior node has at least one child, and no child is
/// empty: a map that loses its last child is the empty node.
public struct Node: Sendable {
  enum Form: Sendable {
    case empty
    case leaf(Leaf)
    case prioritised(PrioritisedLeaf)
    case interior(Interior)
  }

  /// A child of a node with its key.
  public typealias Child = (key: Key, node: Node)

  let form: Form

  init(form: Form) { self.form = form }

  init(root: Chunk?, priority: Priority?) {
    guard let root else {
      self.form = .empty
      return
    }
    self.form = .interior(Interior(root: root, priority: priority))
  }

  /// The node without data: what `null`, `{}` and an absent child are.
  public static let empty = Node(form: .empty)

  /// A leaf.
  ///
  /// - Parameters:
  ///   - leaf: the value.
  ///   - priority: the node's priority, if it has one.
  public init(_ leaf: Leaf, priority: Priority? = nil) {
    form = priority.map { .prioritised(PrioritisedLeaf(leaf, $0)) } ?? .leaf(leaf)
  }

  /// A node from children in any order.
  ///
  /// Of children with the same key the last one counts; empty ones are dropped; when none is
  /// left the node is empty. A child `.priority` becomes the node's priority.
  ///
  /// - Parameters:
  ///   - children: keys and nodes.
  ///   - priority: the node's priority, if it has one.
  public init(children: some Sequence<(Key, Node)>, priority: Priority? = nil) {
    var priority = priority
    var entries = ContiguousArray<Child>()
    var ascending = true
    for (key, node) in children {
      if key.isPriority {
        if let own = node.asPriority { priority = own }
        continue
      }
      if let last = entries.last, Key.compare(last.key, key) >= 0 { ascending = false }
      entries.append((key: key, node: node))
    }
    if !ascending { entries = Node.sorted(entries) }
    if entries.contains(where: { $0.node.isEmpty }) { entries.removeAll { $0.node.isEmpty } }
    self.init(root: entries.isEmpty ? nil : Chunk.build(entries), priority: priority)
  }

  /// A node from children that are already in order, in linear time.
  ///
  /// - Parameters:
  ///   - sortedChildren: strictly ascending keys with nodes that are not empty; the caller
  ///     guarantees both, only debug builds check.
  ///   - priority: the node's priority, if it has one.
  public init(sortedChildren: [Child], priority: Priority? = nil) {
    self.init(sortedEntries: ContiguousArray(sortedChildren), priority: priority)
  }

  /// As `init(sortedChildren:priority:)`, without a copy.
  package init(sortedEntries entries: ContiguousArray<Child>, priority: Priority?) {
    assert(
      zip(entries, entries.dropFirst()).allSatisfy { $0.key < $1.key }
        && entries.allSatisfy { !$0.node.isEmpty })
    self.init(root: entries.isEmpty ? nil : Chunk.build(entries), priority: priority)
  }

  /// Sorts by key; of equal keys only the last one stays.
  private static func sorted(_ entries: ContiguousArray<Child>) -> ContiguousArray<Child> {
    let order = entries.indices.sorted { a, b in
      let order = Key.compare(entries[a].key, entries[b].key)
      return order == 0 ? a < b : order < 0
    }
    var result = ContiguousArray<Child>()
    result.reserveCapacity(entries.count)
    for i in order {
      if let last = result.last, last.key == entries[i].key { result.removeLast() }
      result.append(entries[i])
    }
    return result
  }

  var interior: Interior? {
    if case .interior(let interior) = form { return interior }
    return nil
  }
}
