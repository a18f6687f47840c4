package import ConiferKeyValue
package import ConiferTree

/// Gives the data of a tree in pieces of about a megabyte, in path order, so that a tree of any size
/// is never in memory as a whole.
///
/// A node larger than a piece is walked child by child. The store is asked for each child's size; after a
/// window of 256 children that are all small, those of the next window are taken for small unasked.
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
    var areSmall = false
    while !keys.isEmpty {
      areSmall = try await walk(keys, of: path, areSmall: areSmall)
      guard keys.count == Self.window else { break }
      keys = try children(path, after: keys.last)
    }
    let priority = try backend.inspect { try $0.node(tree.id, path.appending(.priority)).leaf }
    if let priority { try await body(.priority(path, priority)) }
  }

  /// Gives a window of children, the large ones piece by piece.
  ///
  /// - Parameter areSmall: whether their sizes need not be asked for.
  /// - Returns: whether the next window's need not be.
  private func walk(_ keys: [Key], of path: Path, areSmall: Bool) async throws -> Bool {
    var group: [Key] = []
    var groupSize = 0
    var wereSmall = true
    for key in keys {
      let child = path.appending(key)
      if isDone(child) {
        // Its size is not known, so it says nothing about the next window.
        wereSmall = false
        continue
      }
      let size = isStarted(child) ? .max : areSmall ? 1 : try size(child)
      if size > Self.pieceSize / Self.window { wereSmall = false }
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
    return wereSmall && keys.count == Self.window
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

  /// About how many bytes the records of a path take.
  private func size(_ path: Path) throws -> Int {
    guard let measuring else { return path.count < 3 ? .max : 0 }
    return try measuring.recordBytes(tree.id, path)
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
