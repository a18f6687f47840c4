extension MutableData {
  /// The children that some data had when it was asked for them, as a collection in the order of their
  /// priorities. As the Apple SDK's enumerator, it can be read by ``nextObject()`` too.
  public struct Children: RandomAccessCollection {
    /// All of them in an array.
    public let allObjects: [MutableData]
    private let cursor = ChildCursor()

    init(allObjects: [MutableData]) { self.allObjects = allObjects }

    /// The first position.
    public var startIndex: Int { 0 }
    /// The position after the last one.
    public var endIndex: Int { allObjects.count }
    /// The child at a position.
    public subscript(position: Int) -> MutableData { allObjects[position] }

    /// The child after the one that the last call gave, on this value or a copy of it; nil after the last one.
    public func nextObject() -> MutableData? { cursor.next(of: self) }
  }
}
