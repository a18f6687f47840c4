package import ConiferKeyValue
package import ConiferTree

/// Gives the data of a tree in pieces of about a megabyte, in path order, so that a tree of any size
/// is never in memory as a whole.
///
/// A node larger than a piece is walked by windows of 256 children. Where a window is larger than a piece too, the
/// store is asked for the size of each child. Only a `MeasuringBackend`, as every packed one is, knows sizes; of another
/// backend each child of a child of the root is one piece, however large.
package struct TreeWalk {
  /// A part of a tree.
  package enum Piece {
    /// Everything at and below a path.
    case node(Path, Node)
    /// Some children of a path, in order.
    case children(Path, [Node.Child])
    /// The priority of a node whose children came before.
    case priority(Path, Leaf)

    /// The last path that is complete with this piece.
    package var end: Path {
      switch self {
      case .node(let path, _), .priority(let path, _): path
      case .children(let path, let children): children.last.map { path.appending($0.key) } ?? path
      }
    }

    /// The edit that writes the piece into another store.
    package func edit(_ tree: TreeID) -> StorageEdit {
      switch self {
      case .node(let path, let node): .overwrite(tree, path, node)
      case .children(let path, let children):
        .merge(tree, path, children.map { NodeChange(Path([$0.key]), $0.node) })
      case .priority(let path, let leaf):
        .overwrite(tree, path.appending(.priority), Node(leaf))
      }
    }
  }

  /// What a piece should take at most, as stored.
  package static let pieceSize = 512 << 10
  private static let window = 256

  private let backend: any StorageBackend
  /// The backend, if it knows sizes; else the two upper levels are walked by their keys.
  private let measuring: (any MeasuringBackend)?
  private let tree: TreeInfo
  private let cursor: Path?
  private let body: (Piece) async throws -> Void

  /// A walk through a tree.
  ///
  /// - Parameter cursor: the last path that was complete before; all up to it is left out.
  package init(
    backend: any StorageBackend, tree: TreeInfo, cursor: Path?,
    _ body: @escaping (Piece) async throws -> Void
  ) {
    (self.backend, self.tree, self.cursor, self.body) = (backend, tree, cursor, body)
    measuring = backend as? any MeasuringBackend
  }

  /// Gives all pieces.
  package func run() async throws { try await walk(.root) }

  private func walk(_ path: Path) async throws {
    if isDone(path) { return }
    let isSmall = isStarted(path) ? false : try size(path) <= Self.pieceSize
    var keys = isSmall ? [] : try children(path, after: nil)
    guard !keys.isEmpty else {
      let node = try backend.inspect { try $0.node(tree.id, path) }
      if !node.isEmpty { try await body(.node(path, node)) }
      return
    }
    while !keys.isEmpty {
      try await walk(keys, of: path)
      guard keys.count == Self.window else { break }
      keys = try children(path, after: keys.last)
    }
    let priority = try backend.inspect { try $0.node(tree.id, path.appending(.priority)).leaf }
    if let priority { try await body(.priority(path, priority)) }
  }

  /// Gives a window of children, the large ones piece by piece.
  private func walk(_ keys: [Key], of path: Path) async throws {
    var group = keys.filter { !isDone(path.appending($0)) }
    guard let first = group.first, let last = group.last else { return }
    if !isStarted(path.appending(first)), try size(path, (first, last)) <= Self.pieceSize {
      return try await flush(&group, of: path)
    }
    let left = group
    group = []
    var groupSize = 0
    for key in left {
      let child = path.appending(key)
      let size = isStarted(child) ? .max : try size(child)
      guard size <= Self.pieceSize else {
        try await flush(&group, of: path)
        groupSize = 0
        try await walk(child)
        continue
      }
      group.append(key)
      groupSize += size
      if groupSize > Self.pieceSize {
        try await flush(&group, of: path)
        groupSize = 0
      }
    }
    try await flush(&group, of: path)
  }

  private func flush(_ group: inout [Key], of path: Path) async throws {
    guard let first = group.first, let last = group.last else { return }
    group = []
    let node = try backend.inspect {
      try $0.node(tree.id, path, NodeSlice(from: first, through: last))
    }
    let children = node.children.filter { !$0.node.isEmpty }
    if !children.isEmpty { try await body(.children(path, children)) }
  }

  private func children(_ path: Path, after: Key?) throws -> [Key] {
    try backend.inspect {
      try $0.childKeys(tree.id, path, after: after, limit: Self.window)
    }
  }

  /// About how many bytes the records of a path take, or of some of its children.
  private func size(_ path: Path, _ children: (first: Key, last: Key)? = nil) throws -> Int {
    guard let measuring else {
      return path.count + (children == nil ? 0 : 1) < 3 ? .max : 0
    }
    return try measuring.recordBytes(tree.id, path, children)
  }

  /// Whether a path lies at or before the cursor with all below it.
  private func isDone(_ path: Path) -> Bool {
    guard let cursor else { return false }
    for (mine, last) in zip(path.keys, cursor.keys) where mine != last {
      return tree.order.precedes(mine, last)
    }
    return path.count >= cursor.count
  }

  /// Whether the cursor lies below a path.
  private func isStarted(_ path: Path) -> Bool {
    cursor.map { path.contains($0) && path != $0 } ?? false
  }
}

extension KeyOrder {
  /// Whether a key comes before another among siblings.
  package func precedes(_ a: Key, _ b: Key) -> Bool {
    switch self {
    case .realtimeDatabase: a < b
    case .utf8, .documents: a.string.utf8.lexicographicallyPrecedes(b.string.utf8)
    }
  }
}
