extension Node {
  /// Whether a child of this node has a priority; constant time.
  ///
  /// When none has, the order of priorities is the order of keys.
  public var hasChildPriorities: Bool { interior?.root.totals.hasPriorities ?? false }
}
