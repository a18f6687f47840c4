extension Node {
  /// The node with every server value replaced by the client's guess.
  ///
  /// Subtrees without server values stay shared.
  ///
  /// - Parameters:
  ///   - existing: the data at the same place before the write, which increments add to.
  ///   - now: the server's time in milliseconds since 1970.
  public func resolvingServerValues(over existing: Node, now: Int64) -> Node {
    guard hasServerValues else { return self }
    var result = self
    if case .serverValue(let value) = leaf {
      result = Node(value.resolved(over: existing.leaf, now: now), priority: priority)
    }
    for child in children where child.node.hasServerValues {
      let resolved = child.node.resolvingServerValues(over: existing[child.key], now: now)
      result = result.setting(child.key, to: resolved)
    }
    if case .serverValue(let value) = priority?.leaf {
      let leaf = value.resolved(over: existing.priority?.leaf, now: now)
      result = result.settingPriority(Priority(leaf))
    }
    return result
  }
}
