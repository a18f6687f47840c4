extension Node {
  /// The children of a node in key order.
  ///
  /// An index is a position from 0; reaching one takes logarithmic time, iterating constant time
  /// for each child.
  public struct Children: RandomAccessCollection, Sendable {
    /// A child with its key.
    public typealias Element = Child
    /// A part of the children, with the same indices.
    public typealias SubSequence = Children

    let root: Chunk?
    /// The first position.
    public let startIndex: Int
    /// The position after the last.
    public let endIndex: Int

    /// The child at a position.
    public subscript(position: Int) -> Child {
      precondition(position >= startIndex && position < endIndex, "There is no such child.")
      guard let root else { return (key: Key(""), node: .empty) }
      let (entries, start) = root.entries(at: position)
      return entries[position - start]
    }

    /// The children at some positions.
    public subscript(bounds: Range<Int>) -> Children {
      precondition(bounds.lowerBound >= startIndex && bounds.upperBound <= endIndex)
      return Children(root: root, startIndex: bounds.lowerBound, endIndex: bounds.upperBound)
    }

    /// Walks the children in order.
    public func makeIterator() -> Iterator {
      Iterator(root: root, position: startIndex, end: endIndex)
    }

    /// The position of a key; none when it is not among these children.
    public func index(of key: Key) -> Int? {
      guard let (position, found) = root?.rank(of: key), found else { return nil }
      return startIndex..<endIndex ~= position ? position : nil
    }

    /// Walks children in order.
    public struct Iterator: IteratorProtocol {
      let root: Chunk?
      var position: Int
      let end: Int
      private var entries: ContiguousArray<Child> = []
      private var offset = 0

      init(root: Chunk?, position: Int, end: Int) {
        self.root = root
        self.position = position
        self.end = end
      }

      /// The next child; none at the end.
      public mutating func next() -> Child? {
        guard position < end else { return nil }
        if offset >= entries.count {
          guard let root else { return nil }
          let (entries, start) = root.entries(at: position)
          self.entries = entries
          offset = position - start
        }
        defer {
          position += 1
          offset += 1
        }
        return entries[offset]
      }
    }
  }

  /// The children in key order.
  public var children: Children {
    Children(root: interior?.root, startIndex: 0, endIndex: childCount)
  }

  /// Visits the children in key order, without a copy of each: what iterating costs is mostly that.
  package func forEachChild(_ body: (Key, Node) -> Void) { interior?.root.forEach(body) }

  /// The children between two keys, both included.
  ///
  /// - Parameters:
  ///   - from: the first key; none for the beginning.
  ///   - through: the last key; none for the end.
  public func children(from: Key?, through: Key? = nil) -> Children {
    guard let root = interior?.root else { return children }
    let start = from.map { root.rank(of: $0).0 } ?? 0
    let end = through.map { key in
      let (position, found) = root.rank(of: key)
      return found ? position + 1 : position
    }
    return Children(root: root, startIndex: start, endIndex: Swift.max(start, end ?? childCount))
  }

  /// The child with the smallest key.
  public var firstChild: Child? { children.first }

  /// The child with the largest key.
  public var lastChild: Child? { children.last }

  /// The child whose key comes right before a key, which need not exist.
  public func child(before key: Key) -> Child? {
    guard let position = interior?.root.rank(of: key).0, position > 0 else { return nil }
    return children[position - 1]
  }

  /// The child whose key comes right after a key, which need not exist.
  public func child(after key: Key) -> Child? {
    guard let (position, found) = interior?.root.rank(of: key) else { return nil }
    let next = found ? position + 1 : position
    return next < childCount ? children[next] : nil
  }

  /// A child, or the priority as a leaf for the key `.priority`; empty when absent.
  public subscript(_ key: Key) -> Node {
    if key.isPriority { return priority.map { Node($0.leaf) } ?? .empty }
    return interior?.root.find(key) ?? .empty
  }

  /// A descendant, or a priority as a leaf when the path ends in `.priority`; empty when absent.
  public subscript(_ path: Path) -> Node {
    var node = self
    for (i, key) in path.keys.enumerated() {
      if node.isEmpty || (key.isPriority && i < path.count - 1) { return .empty }
      node = node[key]
    }
    return node
  }
}
