import ConiferQuery
package import ConiferTree

extension DataSnapshot {
  /// The children of a snapshot as a collection, in the order of its query.
  ///
  /// In the order of keys they are taken from the tree as they are asked for; another order is made
  /// once, when the collection is. As the Apple SDK's enumerator, it can be read by ``nextObject()`` too.
  public struct Children: RandomAccessCollection, Sendable {
    private enum Order: Sendable {
      case keys(Node.Children)
      case sorted([Node.Child])
    }

    private let parent: DataSnapshot
    private let order: Order
    private let cursor = ChildCursor()

    init(_ parent: DataSnapshot) {
      self.parent = parent
      let isByKey =
        parent.index == .key || (parent.index == .priority && !parent.node.hasChildPriorities)
      if isByKey {
        order = .keys(parent.node.children)
      } else {
        order = .sorted(
          parent.node.children.sorted(by: parent.precedes))
      }
    }

    /// The first position.
    public var startIndex: Int { 0 }
    /// The position after the last one.
    public var endIndex: Int { parent.node.childCount }

    /// The child at a position.
    public subscript(position: Int) -> DataSnapshot {
      let child =
        switch order {
        case .keys(let children): children[position]
        case .sorted(let children): children[position]
        }
      return parent.snapshot(of: child)
    }

    /// All of them in an array.
    public var allObjects: [DataSnapshot] { Array(self) }

    /// The child after the one that the last call gave, on this value or a copy of it; nil after the last one.
    public func nextObject() -> DataSnapshot? { cursor.next(of: self) }
  }
}

// For who keeps the children sorted from one snapshot to the next.
extension DataSnapshot {
  /// Whether a child comes before another one in the order of the query.
  package func precedes(_ a: Node.Child, _ b: Node.Child) -> Bool { index.compare(a, b) < 0 }

  /// The snapshot of a child.
  package func snapshot(of child: Node.Child) -> DataSnapshot {
    DataSnapshot(
      DatabaseReference(ref.database, ref.path.appending(child.key)), child.node, index, metadata)
  }
}
