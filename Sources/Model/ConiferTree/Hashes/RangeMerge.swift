/// The data of one range of leaves, which replaces whatever the client holds in that range: the
/// server's answer to a compound hash.
public struct RangeMerge: Hashable, Sendable {
  /// The excluded leaf before the range; places below it belong to the range. Nil from the start.
  public let start: Path?
  /// The last leaf of the range, itself included but nothing below it; none to the end.
  public let end: Path?
  /// The data of the range, as a tree from the same root as the paths.
  public let node: Node

  /// A range merge.
  ///
  /// - Parameters:
  ///   - start: the leaf before the range; none from the start.
  ///   - end: the last leaf of the range; none to the end.
  ///   - node: the data of the range, as a tree from the same root as the paths.
  public init(start: Path?, end: Path?, node: Node) {
    self.start = start
    self.end = end
    self.node = node
  }

  /// The data with this range replaced.
  ///
  /// A leaf counts with its priority; the priority of an interior node counts as a leaf of its
  /// own at `.priority`. Other children stay shared with the given data.
  ///
  /// - Parameter data: what the client holds.
  public func applied(to data: Node) -> Node {
    merged(data, node, at: [])
  }

  private func merged(_ node: Node, _ update: Node, at path: [Key]) -> Node {
    let afterStart = start.map { Path.compare(path, $0.keys) > 0 } ?? true
    let endOrder = end.map { Path.compare(path, $0.keys) } ?? -1
    let here = Path(path)
    let holdsStart = start.map(here.contains) ?? false
    let holdsEnd = end.map(here.contains) ?? false
    if afterStart {
      if endOrder < 0 && !holdsEnd { return update }
      if holdsEnd && update.isLeaf { return update }
      if endOrder == 0 { return node.isLeaf ? .empty : node }
    }
    // A leaf's priority belongs to the leaf, whose own range was merged before.
    if node.isLeaf && update.isEmpty { return node }
    return holdsStart || holdsEnd ? mergedChildren(node, update, at: path) : node
  }

  /// Merges the children from the start's to the end's, and the priority.
  private func mergedChildren(_ node: Node, _ update: Node, at path: [Key]) -> Node {
    let here = Path(path)
    let from = start.flatMap { here.contains($0) ? $0.keys.dropFirst(path.count).first : nil }
    let through = end.flatMap { here.contains($0) ? $0.keys.dropFirst(path.count).first : nil }
    if let from, let through, through < from { return node }
    var result = node
    var gone: [Key] = []
    for (key, child) in node.children(from: from, through: through) {
      let new = merged(child, update[key], at: path + [key])
      if new.isEmpty { gone.append(key) } else { result = result.setting(key, to: new) }
    }
    for (key, child) in update.children(from: from, through: through) where node[key].isEmpty {
      result = result.setting(key, to: merged(.empty, child, at: path + [key]))
    }
    // Removals come last: a node that is empty in between would lose its priority.
    for key in gone { result = result.setting(key, to: .empty) }
    if node.priority != nil || update.priority != nil {
      let new = merged(node[.priority], update[.priority], at: path + [.priority])
      result = result.settingPriority(new.asPriority)
    }
    return result
  }
}
