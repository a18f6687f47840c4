import ConiferKeyValue
import ConiferLeafStore

/// Visiting the children that an index has rows of.
extension RunSource {
  /// Visits the children in `low ..< high` that have rows in an index, with what the index needs to
  /// know of them; runs without such data are not read.
  ///
  /// - Parameters:
  ///   - low: not within a child.
  ///   - limit: how many entries are looked at before it stops between two children.
  ///   - visit: gets the child's path key and where its node's ends; says whether to go on.
  /// - Returns: where it stopped: nothing was visited from there on; nil at the end.
  @discardableResult
  func forEachChild(
    _ plan: IndexPlan, _ low: Bytes, _ high: Bytes, limit: Int = .max,
    _ visit: (_ child: Bytes, _ node: Int, _ facts: ChildFacts) throws(StoreError) -> Bool
  ) throws(StoreError) -> Bytes? {
    var cursor = LeafCursor(self, low, high)
    var current: (child: Bytes, node: Int, facts: ChildFacts)?
    var looked = 0
    var isLeaf = try cursor.first()
    while isLeaf {
      looked += 1
      var place = cursor.entries.withKey(cursor.index, plan.place)
      if let (child, node, facts) = current {
        if cursor.entries.withKey(cursor.index, { $0.starts(with: child) }) {
          place = .child(node: node, end: child.count)
        } else {
          current = nil
          if facts.exists, try !visit(child, node, facts) { return cursor.boundary(place) }
        }
      }
      if current == nil, looked > limit { return cursor.boundary(place) }
      var next: Bytes?
      switch place {
      case .above: break
      case .outside(let key): next = key
      case .child(let node, let end):
        var (child, facts) =
          current.map { ($0.child, $0.facts) } ?? (Bytes(cursor.key[..<end]), ChildFacts(plan))
        next = try facts.add(cursor.entries, cursor.index, child: child, plan, reader)
        current = (child, node, facts)
      }
      if let next { isLeaf = try cursor.seek(next) } else { isLeaf = try cursor.next() }
    }
    if let (child, node, facts) = current, facts.exists { _ = try visit(child, node, facts) }
    return nil
  }
}

extension LeafCursor {
  /// Where a later visit must begin so that it visits the cursor's current child completely.
  fileprivate func boundary(_ place: IndexPlan.Place) -> Bytes {
    guard case .child(_, let end) = place else { return key }
    return Bytes(key[..<end])
  }
}
