import ConiferKeyValue
import ConiferLeafStore
import ConiferQuery
import ConiferTree

/// What an index needs to know of one child, gathered from the child's entries in order.
struct ChildFacts {
  /// Whether anything but priorities was met.
  private(set) var exists = false
  private var own: Leaf?
  private var priority: Leaf?
  /// By component: the content at its path; nil while it is not known.
  private var found: [IndexValue.Content?]

  init(_ plan: IndexPlan) {
    found = Array(repeating: nil, count: plan.paths.count)
  }

  /// What a component sorts the child by.
  func content(_ component: Int, _ plan: IndexPlan) -> IndexValue.Content {
    switch plan.components[component].by {
    case .child: found[component] ?? .null
    case .priority, .key: priority.map { .leaf($0) } ?? .null
    case .value: own.map { .leaf($0) } ?? .interior
    }
  }

  /// The relation of an entry's path below the child to a component's path.
  private enum Relation {
    case before
    case itself
    case below
    case after
  }

  /// Adds an entry of the child.
  ///
  /// - Returns: where the next relevant entry is: after this one, or after the child.
  mutating func add(
    _ entries: EntryList, _ index: Int, child: Bytes, _ plan: IndexPlan, _ runs: RunReader
  ) throws(StoreError) -> Bytes? {
    let rest = Bytes(entries.key(index)[child.count...])
    if rest.isEmpty {
      exists = true
      let (leaf, priority) = try Self.leaf(entries, index, runs)
      self.own = leaf
      self.priority = priority?.leaf
      return child + [PathKey.endMark]
    }
    if PathKey.isPriority(rest) {
      if rest.count == 1 { priority = try Self.leaf(entries, index, runs).0 }
      return nil
    }
    exists = true
    var next: Bytes?
    for (component, path) in plan.paths.enumerated() where found[component] == nil {
      guard let path else { continue }
      switch Self.relation(rest, path) {
      case .before: if next.map({ bytesPrecede(path, $0) }) ?? true { next = path }
      case .itself: found[component] = .leaf(try Self.leaf(entries, index, runs).0)
      case .below: found[component] = .interior
      case .after: found[component] = .null
      }
    }
    return child + (next ?? [PathKey.endMark])
  }

  private static func relation(_ rest: Bytes, _ path: Bytes) -> Relation {
    if rest.starts(with: path) { return rest.count == path.count ? .itself : .below }
    return bytesPrecede(rest, path) ? .before : .after
  }

  private static func leaf(
    _ entries: EntryList, _ index: Int, _ runs: RunReader
  ) throws(StoreError) -> (Leaf, Priority?) {
    func run() throws(StoreError) -> Bytes {
      try runs.run(covering: entries.key(index))?.storeKey ?? StoreKey.prefix(runs.tree)
    }
    switch entries.leaf(index) {
    case .leaf(let leaf, let priority): return (leaf, priority)
    case .largeLeaf(let reference, let priority):
      return (try runs.leaf(reference, in: try run()), priority)
    case nil: throw Damage.error(Spaces.runs, try run())
    }
  }
}
