import ConiferTree

// The window of a limit holds the children in range up to its edge, or all of them when they are
// fewer than the limit.
extension NodeView {
  /// Takes the first or last children in range, whatever was shown.
  mutating func fillWindow() {
    guard let limit = spec.limit else { return }
    edge = nil
    if let sorted {
      let keys = sorted.keys(limit)
      node = Node(children: keys.map { ($0, source[$0]) })
      guard keys.count == limit.count else { return }
      edge = (limit.side == .first ? keys.last : keys.first).map { entry($0, source[$0]) }
    } else {
      node = spec.filtered(source)
      if node.childCount == limit.count { edge = outermost(limit.side) }
    }
  }

  /// Follows changes of the source's children.
  mutating func moveWindow(_ changed: [(key: Key, old: Node, new: Node)], _ limit: QuerySpec.Limit)
  {
    if changed.count > limit.count + 64 { return fillWindow() }
    for (key, _, new) in changed {
      let isIn = spec.contains(key, new) && !isBeyondEdge(entry(key, new), limit.side)
      node = node.setting(key, to: isIn ? new : .empty)
    }
    var last = node.childCount > limit.count ? outermost(limit.side) : nil
    while node.childCount > limit.count, let entry = last {
      node = node.setting(entry.key, to: .empty)
      last = neighbour(of: entry, inwards: true, limit.side)
      edge = last
    }
    while node.childCount < limit.count, let edge,
      let next = neighbour(of: edge, inwards: false, limit.side)
    {
      node = node.setting(next.key, to: source[next.key])
      self.edge = next
    }
    if node.childCount < limit.count {
      edge = nil
    } else if edge == nil {
      edge = outermost(limit.side)
    }
  }

  private func isBeyondEdge(_ entry: SortedChildren.Entry, _ side: QuerySpec.Side) -> Bool {
    guard let edge else { return false }
    let order = SortedChildren.Entry.compare(entry, edge)
    return side == .first ? order > 0 : order < 0
  }

  /// The shown child that is the first to leave when the window is too large.
  private func outermost(_ side: QuerySpec.Side) -> SortedChildren.Entry? {
    guard let sorted else {
      return (side == .first ? node.lastChild : node.firstChild).map { entry($0.key, $0.node) }
    }
    guard let edge else { return side == .first ? sorted.last : sorted.first }
    if sorted.contains(edge) { return edge }
    return side == .first ? sorted.before(edge) : sorted.after(edge)
  }

  /// The next child in range, shown or not.
  private func neighbour(
    of entry: SortedChildren.Entry, inwards: Bool, _ side: QuerySpec.Side
  ) -> SortedChildren.Entry? {
    let isBackwards = (side == .first) == inwards
    if let sorted { return isBackwards ? sorted.before(entry) : sorted.after(entry) }
    let child = isBackwards ? source.child(before: entry.key) : source.child(after: entry.key)
    guard let child, spec.contains(child.key, child.node) else { return nil }
    return self.entry(child.key, child.node)
  }
}
