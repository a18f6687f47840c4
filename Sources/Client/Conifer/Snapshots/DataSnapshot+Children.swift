import ConiferQuery
import ConiferTree

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
          parent.node.children.sorted { parent.index.compare($0, $1) < 0 })
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
      return DataSnapshot(
        DatabaseReference(parent.ref.database, parent.ref.path.appending(child.key)), child.node,
        parent.index, parent.metadata)
    }

    /// All of them in an array.
    public var allObjects: [DataSnapshot] { Array(self) }

    /// The child after the one that the last call gave, on this value or a copy of it; nil after the last one.
    public func nextObject() -> DataSnapshot? { cursor.next(of: self) }
  }
}
