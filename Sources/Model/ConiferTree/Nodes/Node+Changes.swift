extension Node {
  /// The children that two versions of a node do not share, in key order.
  ///
  /// A child that one version lacks is empty there. Parts that both versions share are skipped
  /// unseen, so a few changes among many children are found in logarithmic time.
  public struct Changes: Sequence, IteratorProtocol, Sendable {
    private var old: Entries
    private var new: Entries

    init(_ old: Chunk?, _ new: Chunk?) {
      let parts = Chunk.unshared(old, new)
      self.old = Entries(parts.old)
      self.new = Entries(parts.new)
    }

    /// The next child that is not identical in both versions; it may still be equal.
    public mutating func next() -> (key: Key, old: Node, new: Node)? {
      while true {
        switch (old.next, new.next) {
        case (nil, nil): return nil
        case (let a?, nil):
          old.advance()
          return (key: a.key, old: a.node, new: .empty)
        case (nil, let b?):
          new.advance()
          return (key: b.key, old: .empty, new: b.node)
        case (let a?, let b?):
          let order = Key.compare(a.key, b.key)
          if order <= 0 { old.advance() }
          if order >= 0 { new.advance() }
          if order < 0 { return (key: a.key, old: a.node, new: .empty) }
          if order > 0 { return (key: b.key, old: .empty, new: b.node) }
          if !a.node.isIdentical(to: b.node) { return (key: a.key, old: a.node, new: b.node) }
        }
      }
    }

    /// A walk over the entries of some parts that looks one entry ahead.
    private struct Entries: Sendable {
      private var parts: ArraySlice<Chunk>
      private var entries: ArraySlice<Child> = []
      private(set) var next: Child?

      init(_ parts: [Chunk]) {
        self.parts = parts[...]
        advance()
      }

      mutating func advance() {
        while entries.isEmpty, let part = parts.popFirst() {
          if case .entries(let all) = part.body { entries = all[...] }
        }
        next = entries.popFirst()
      }
    }
  }

  /// The children of this node that another version of it does not share, in key order.
  ///
  /// Only children are compared: a version that is a leaf or empty has none.
  ///
  /// - Parameter old: the version before.
  public func changes(since old: Node) -> Changes {
    Changes(old.interior?.root, interior?.root)
  }
}

extension Chunk {
  /// The parts that hold entries and belong to only one of two maps, in key order.
  ///
  /// A part that both maps share holds the same keys in both, so both may do without it.
  fileprivate static func unshared(_ old: Chunk?, _ new: Chunk?) -> (old: [Chunk], new: [Chunk]) {
    var (a, b) = (old.map { [$0] } ?? [], new.map { [$0] } ?? [])
    while true {
      let shared = Set(a.map { ObjectIdentifier($0) }).intersection(b.map { ObjectIdentifier($0) })
      if !shared.isEmpty {
        a.removeAll { shared.contains(ObjectIdentifier($0)) }
        b.removeAll { shared.contains(ObjectIdentifier($0)) }
      }
      let (x, y) = (a.first?.height ?? 0, b.first?.height ?? 0)
      if x == 0 && y == 0 { return (a, b) }
      if x >= y { a = a.flatMap(\.parts) }
      if y >= x { b = b.flatMap(\.parts) }
    }
  }

  /// The levels of parts below.
  private var height: Int {
    var (chunk, height) = (self, 0)
    while case .chunks(let chunks) = chunk.body {
      chunk = chunks[0]
      height += 1
    }
    return height
  }

  private var parts: ContiguousArray<Chunk> {
    if case .chunks(let chunks) = body { return chunks }
    return []
  }
}
