import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Reads nodes of one tree from a view: only the runs that hold what was asked for.
struct TreeReader {
  let runs: RunReader
  let order: KeyOrder
  /// Counts the runs that are read, if it is set.
  var meter: ReadMeter?

  /// The node at a path, or the slice of it that was asked for.
  ///
  /// - Throws: `invalid` in a tree of documents.
  func node(_ path: Path, _ slice: NodeSlice) throws(StoreError) -> Node {
    try order.requireNodes()
    if let last = path.last, last.isPriority, let parent = path.parent {
      return try priority(PathKey.encode(parent, order)).map { Node($0.leaf) } ?? .empty
    }
    let key = PathKey.encode(path, order)
    if slice == .all, let leaf = runs.leafFromMemory(key) { return leaf }
    return try locating(key) { () throws(StoreError) in
      guard slice == .all else { return try part(key, slice) }
      var assembler = NodeAssembler(at: key, order)
      let end = key + [PathKey.endMark]
      var cursor = LeafCursor(runs, key, end, meter)
      if try cursor.first() { try assemble(key, end, &cursor, &assembler) }
      return try finish(&assembler, key)
    }
  }

  func finish(_ assembler: inout NodeAssembler, _ key: Bytes) throws(StoreError) -> Node {
    if let node = assembler.finish() { return node }
    // Only forged records, or records of a broken version, cause this.
    guard let run = try runs.run(coveringOrAfter: key) else { return .empty }
    throw Damage.error(Spaces.runs, run.storeKey)
  }

  /// A leaf with its priority, put together when it is stored in chunks.
  func whole(
    _ decoded: LeafCodec.Decoded?, _ cursor: borrowing LeafCursor<RunReader>
  ) throws(StoreError) -> (Leaf, Priority?) {
    switch decoded {
    case .leaf(let leaf, let priority): return (leaf, priority)
    case .largeLeaf(let reference, let priority):
      let run = cursor.run?.storeKey
      let leaf = try runs.leaf(reference, in: run ?? StoreKey.prefix(runs.tree))
      return (leaf, priority)
    case nil: throw cursor.damage
    }
  }

  /// Adds the leaves of a node, from the first that a cursor found.
  ///
  /// - Parameters:
  ///   - key: the node's path key.
  ///   - end: after all path keys of the node.
  private func assemble(
    _ key: Bytes, _ end: Bytes, _ cursor: inout LeafCursor<RunReader>,
    _ assembler: inout NodeAssembler
  ) throws(StoreError) {
    if cursor.run != nil, cursor.entries.compareKey(cursor.index, key) == 0 {
      let (leaf, priority) = try whole(cursor.entries.leaf(cursor.index), cursor)
      guard key.withUnsafeBytes({ assembler.add($0, leaf, priority) }) else { throw cursor.damage }
      return
    }
    var isLeaf = cursor.run != nil
    while isLeaf {
      let entries = cursor.entries
      let first = cursor.index
      let end = min(entries.lowerBound(end, from: first), cursor.range.upperBound)
      // Lazy leaves keep the whole run in memory, so they are used only when they are a large part
      // of it.
      let isLazy = order == .realtimeDatabase && (end - first) * 4 >= entries.count
      if isLazy { assembler.beginRun(entries) }
      var failure: StoreError?
      entries.lend { lent in
        var index = first
        while index < end {
          if isLazy {
            guard let taken = assembler.addLazily(lent, from: index, to: end) else {
              return failure = cursor.damage
            }
            index += taken
            if taken > 0 { continue }
          }
          do throws(StoreError) {
            let (leaf, priority) = try whole(lent.leaf(index), cursor)
            guard assembler.add(lent.key(index), leaf, priority) else { throw cursor.damage }
          } catch { return failure = error }
          index += 1
        }
      }
      if let failure { throw failure }
      if end < entries.count { return }
      isLeaf = try cursor.nextRun()
    }
  }

  /// Some children of a node; a child that does not exist is empty. Runs without any of them are
  /// not read.
  ///
  /// - Parameter keys: path keys, ascending.
  func children(_ keys: [Bytes]) throws(StoreError) -> [Node] {
    guard let first = keys.first, let last = keys.last else { return [] }
    var nodes: [Node] = []
    var cursor = LeafCursor(runs, first, last + [PathKey.endMark], meter)
    // One assembler is used for all, since the leaves of siblings often have the same names.
    var assembler = NodeAssembler(at: first, order)
    for key in keys {
      assembler.restart(at: key)
      let place = try cursor.seek(key) ? cursor.run?.storeKey : nil
      try assemble(key, key + [PathKey.endMark], &cursor, &assembler)
      guard let node = assembler.finish() else {
        throw Damage.error(Spaces.runs, place ?? StoreKey.prefix(runs.tree))
      }
      nodes.append(node)
    }
    return nodes
  }
}

extension TreeReader {
  /// Reads a tree in a snapshot.
  init(_ snapshot: LeafSnapshot, _ tree: TreeID) throws(StoreError) {
    self.init(
      runs: RunReader(view: snapshot, tree: tree), order: try KnownTree.info(snapshot, tree).order)
  }
}

extension LeafCursor {
  /// The path key of the child that the cursor is in, or nil when its key is none of a child.
  func child(of node: Bytes) -> Bytes? {
    entries.withKey(index) { key in
      PathKey.segmentEnd(key, node.count).map { Bytes(key[..<$0]) }
    }
  }

  /// The error for entries that are invalid.
  var damage: StoreError { Damage.error(Spaces.runs, run?.storeKey ?? []) }
}
