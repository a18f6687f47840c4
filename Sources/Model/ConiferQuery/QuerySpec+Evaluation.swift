public import ConiferTree

extension QuerySpec {
  /// The result of the query on a node: its children in index order, within range and limit.
  ///
  /// A query by key, or by priority when no child has one, takes logarithmic time for the search
  /// plus the time for its result. Others visit every child once, and sort only the children that
  /// they keep.
  /// - Parameter node: The node; a leaf has no children, so the result is empty.
  /// - Returns: The children, first in order first.
  public func evaluate(_ node: Node) -> [(key: Key, node: Node)] {
    if let slice = slice(of: node) { return Array(slice) }

    let children = node.children
    var window = Window(limit: limit)
    for (position, child) in children.enumerated() {
      // Children are in key order, so positions can be compared instead of keys.
      let value = index.value(of: child.key, child.node)
      if self.position(of: value, child.key, against: start, isStart: true) >= 0,
        self.position(of: value, child.key, against: end, isStart: false) <= 0
      {
        window.add(Window.Entry(value: value, position: position, child: child))
      }
    }
    return window.sorted().map(\.child)
  }

  /// The node as a view of this query shows it: the children of the result, without the node's own
  /// priority; the node itself when all data is loaded.
  /// - Parameter node: The node.
  /// - Returns: The filtered node; empty when nothing is left, and for a leaf.
  public func filtered(_ node: Node) -> Node {
    if loadsAllData { return node }
    if let slice = slice(of: node) { return Node(sortedChildren: Array(slice)) }
    return Node(children: evaluate(node).map { ($0.key, $0.node) })
  }

  /// The child right before another one in index order; range and limit do not count.
  /// - Parameters:
  ///   - key: The key of the other child, which need not be among the children.
  ///   - child: The other child; nil for the one in `node`.
  ///   - node: The node whose children are sorted.
  /// - Returns: The child before; nil when there is none.
  public func predecessor(
    of key: Key, _ child: Node? = nil, in node: Node
  ) -> (key: Key, node: Node)? {
    if index == .key { return node.child(before: key) }
    if index == .priority, !node.hasChildPriorities, child?.priority == nil {
      return node.child(before: key)
    }
    let other = index.value(of: key, child ?? node[key])
    var best: (child: Node.Child, value: Node)?
    for candidate in node.children where candidate.key != key {
      let value = index.value(of: candidate.key, candidate.node)
      let order = Node.compareValues(value, other)
      guard order < 0 || (order == 0 && candidate.key < key) else { continue }
      // On equal values the later key is the nearer one, and keys come in order.
      if let best, Node.compareValues(value, best.value) < 0 { continue }
      best = (candidate, value)
    }
    return best?.child
  }

  /// The children within range and limit, where index order is key order; nil where it is not.
  private func slice(of node: Node) -> Node.Children? {
    guard isByKey(node) else { return nil }
    let none = node.children[0..<0]
    var range = node.children
    for (bound, isStart) in [(start, true), (end, false)] {
      guard let bound else { continue }
      if index == .priority, bound.value != nil {
        // Every child's value is null, which comes before all others.
        if isStart { return none }
        continue
      }
      guard let key = index == .key ? bound.keyOfKeyIndex : bound.key else {
        if !bound.inclusive { return none }
        continue
      }
      let from = node.children(from: isStart ? key : nil, through: isStart ? nil : key)
      var (lower, upper) = (from.startIndex, from.endIndex)
      if !bound.inclusive, isStart, from.first?.key == key { lower += 1 }
      if !bound.inclusive, !isStart, from.last?.key == key { upper -= 1 }
      lower = max(lower, range.startIndex)
      range = node.children[lower..<max(lower, min(upper, range.endIndex))]
    }
    switch limit?.side {
    case .first?: return range.prefix(limit?.count ?? 0)
    case .last?: return range.suffix(limit?.count ?? 0)
    case nil: return range
    }
  }
}

/// The best entries seen so far, at most as many as a limit keeps.
private struct Window {
  struct Entry {
    let value: Node
    let position: Int
    let child: Node.Child
  }

  private let capacity: Int
  private let keepsLast: Bool
  /// With a limit, a heap whose root is the next one to be dropped.
  private var entries: [Entry] = []

  init(limit: QuerySpec.Limit?) {
    capacity = limit?.count ?? .max
    keepsLast = limit?.side == .last
  }

  mutating func add(_ entry: Entry) {
    if entries.count < capacity {
      entries.append(entry)
      if capacity < .max { siftUp() }
    } else if isWorse(entries[0], than: entry) {
      entries[0] = entry
      siftDown()
    }
  }

  consuming func sorted() -> [Entry] {
    entries.sort(by: Window.isBefore)
    return entries
  }

  private static func isBefore(_ a: Entry, _ b: Entry) -> Bool {
    let order = Node.compareValues(a.value, b.value)
    return order == 0 ? a.position < b.position : order < 0
  }

  private func isWorse(_ a: Entry, than b: Entry) -> Bool {
    keepsLast ? Window.isBefore(a, b) : Window.isBefore(b, a)
  }

  private mutating func siftUp() {
    var child = entries.count - 1
    while child > 0, isWorse(entries[child], than: entries[(child - 1) / 2]) {
      entries.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  private mutating func siftDown() {
    var parent = 0
    while true {
      var worst = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < entries.count && isWorse(entries[child], than: entries[worst]) {
        worst = child
      }
      if worst == parent { return }
      entries.swapAt(parent, worst)
      parent = worst
    }
  }
}
