extension CompoundHash {
  /// The range merges that turn data with this compound hash into a node: the ranges that differ.
  ///
  /// Applied in order to the hashed data, they produce the node. A range is extended where it would
  /// contain the priority of an interior node without any leaf of that node, which no node can
  /// represent.
  ///
  /// - Parameter node: the data there is now.
  /// - Returns: the ranges in path order; none when nothing differs.
  public func merges(to node: Node) -> [RangeMerge] {
    var writer = RangeWriter(.at(paths))
    writer.walk(node)
    let current = writer.finished().1
    let isChanged = zip(current, hashes).map { $0 != $1 }
    var merges: [(ranges: ClosedRange<Int>, merge: RangeMerge)] = []
    for index in hashes.indices where isChanged[index] || mayNeed(index, in: node) {
      if let last = merges.last, last.ranges.contains(index) { continue }
      var (first, last) = (index, index)
      var merge = self.merge(of: node, first...last)
      while case .needs(let side) = merge {
        switch side {
        case .later: last += 1
        case .earlier: first -= 1
        }
        merge = self.merge(of: node, first...last)
      }
      // A client keeps the priority when no leaf of its node is sent, so an unchanged group is not
      // sent.
      guard isChanged[first...last].contains(true) else { continue }
      while let other = merges.last, other.ranges.upperBound >= first {
        merges.removeLast()
        // An overlap is sent once, in the range that begins first.
        if other.ranges.lowerBound < first {
          first = other.ranges.lowerBound
          merge = self.merge(of: node, first...last)
        }
      }
      if case .complete(let merge) = merge { merges.append((first...last, merge)) }
    }
    return merges.map(\.merge)
  }

  fileprivate enum Part {
    enum Side {
      case earlier
      case later
    }
    case complete(RangeMerge)
    /// The range contains the priority of a node whose leaves are in an earlier or later range.
    case needs(Side)
  }

  /// Whether a range may contain the priority of a node without any of its leaves. Only the nodes
  /// above one of the range's ends can cause that.
  ///
  /// When the other ranges remove that node's leaves, the client loses the priority too. So the
  /// priority must be sent with the new leaves, even though it has not changed.
  private func mayNeed(_ index: Int, in node: Node) -> Bool {
    for end in [index - 1, index] where paths.indices.contains(end) {
      var above = node
      for key in paths[end].keys {
        if above.isLeaf || above.isEmpty { break }
        if above.priority != nil { return true }
        above = above[key]
      }
    }
    return false
  }

  /// The data of some adjacent ranges.
  private func merge(of node: Node, _ ranges: ClosedRange<Int>) -> Part {
    let start = ranges.lowerBound > 0 ? paths[ranges.lowerBound - 1] : nil
    let end = ranges.upperBound < paths.count ? paths[ranges.upperBound] : nil
    var needed: Part.Side?
    let part = node.part(after: start?.keys[...], through: end?.keys[...], &needed)
    if let needed {
      // There is nothing before the first range and after the last one.
      if needed == .earlier ? start != nil : end != nil { return .needs(needed) }
    }
    return .complete(RangeMerge(start: start, end: end, node: part))
  }
}

extension Node {
  /// The leaves and priorities within a range.
  ///
  /// - Parameters:
  ///   - start: the excluded place before the range, relative to this node; nil when it lies before
  ///     the node.
  ///   - end: the last place of the range, relative to this node; nil when it lies after the node.
  ///   - needed: set when a priority was left out for want of a leaf: where the node's leaves are.
  fileprivate func part(
    after start: ArraySlice<Key>?, through end: ArraySlice<Key>?,
    _ needed: inout CompoundHash.Part.Side?
  ) -> Node {
    if let end, end.isEmpty { return isLeaf && start == nil ? self : .empty }
    if isLeaf || isEmpty { return start == nil ? self : .empty }
    // Data below the place before a range belongs to the range.
    let start = start?.isEmpty == true ? nil : start
    if start == nil, end == nil { return self }
    var kept: [Child] = []
    for (key, child) in children(from: start?.first, through: end?.first) {
      let below = child.part(
        after: key == start?.first ? start?.dropFirst() : nil,
        through: key == end?.first ? end?.dropFirst() : nil, &needed)
      if !below.isEmpty { kept.append((key: key, node: below)) }
    }
    var priority = priority
    if let key = start?.first, Key.compare(.priority, key) <= 0 { priority = nil }
    if let key = end?.first, Key.compare(.priority, key) > 0 { priority = nil }
    if priority != nil, kept.isEmpty { needed = start == nil ? .later : .earlier }
    return Node(sortedChildren: kept, priority: priority)
  }
}
