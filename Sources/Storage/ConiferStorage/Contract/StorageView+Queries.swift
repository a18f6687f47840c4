public import ConiferKeyValue
public import ConiferQuery
public import ConiferTree

extension StorageView {
  /// Reads the whole node and evaluates the query on it.
  ///
  /// - Throws: as the view's reads.
  public func query(
    _ tree: TreeID, _ path: Path, _ spec: QuerySpec
  ) throws(StoreError) -> QueryAnswer {
    let node = try node(tree, path, .all)
    let children = spec.evaluate(node)
    var explanation = QueryExplanation(.node)
    explanation.children = children.count
    explanation.childrenRead = node.childCount
    return QueryAnswer(children: children, explanation: explanation)
  }

  /// Answers a query and tells how.
  ///
  /// - Throws: as ``query(_:_:_:)``.
  public func explain(
    _ tree: TreeID, _ path: Path, _ spec: QuerySpec
  ) throws(StoreError) -> QueryExplanation {
    try query(tree, path, spec).explanation
  }
}
