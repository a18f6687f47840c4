import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Reads nodes of one tree from a view: only the runs that hold what was asked for.
struct TreeReader {
  let runs: RunReader
  let order: KeyOrder
  /// What counts the runs that are read, if anything does.
  var meter: ReadMeter?

  /// The node at a path, or the slice of it that was asked for.
  func node(_ path: Path, _ slice: NodeSlice) throws(StoreError) -> Node {
    if let last = path.last, last.isPriority, let parent = path.parent {
      let own = try node(parent, .first(1))
      return own.priority.map { Node($0.leaf) } ?? .empty
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

  /// A leaf, or a limited or bounded part of an interior node with its priority.
  private func part(_ key: Bytes, _ slice: NodeSlice) throws(StoreError) -> Node {
    var assembler = NodeAssembler(at: key, order)
    var isLeaf = false
    var hasChild = false
    try scan(key, key + [PathKey.endMark]) { entry, leaf, priority in
      isLeaf = entry.count == key.count
      let isPriority = entry.count == key.count + 1 && entry.last == PathKey.priorityMark
      hasChild = !isLeaf && !isPriority
      if !hasChild, !assembler.add(entry, leaf, priority) { return .damaged }
      return isPriority ? .more : .enough
    }
    guard !isLeaf, hasChild else { return try finish(&assembler, key) }
    var low = key + [PathKey.firstChildMark]
    var high = key + [PathKey.endMark]
    if let lower = slice.lower {
      low = key
      PathKey.append(lower, order, to: &low)
    }
    if let upper = slice.upper {
      high = key
      PathKey.append(upper, order, to: &high)
      high.append(PathKey.endMark)
    }
    let limit = slice.limit ?? .max
    // A node without children cannot have a priority: a slice that holds none is empty.
    guard limit > 0 else { return .empty }
    try collect(key, low, high, limit, fromEnd: slice.fromEnd, into: &assembler)
    return try finish(&assembler, key)
  }

  /// The children of a node whose path keys lie in `low ..< high`, at most `limit` of them, without
  /// the node's own priority.
  ///
  /// - Parameter low: above the key of the node's priority.
  func children(
    _ key: Bytes, _ low: Bytes, _ high: Bytes, limit: Int, fromEnd: Bool
  ) throws(StoreError) -> Node {
    guard limit > 0, bytesPrecede(low, high) else { return .empty }
    return try locating(key) { () throws(StoreError) in
      var assembler = NodeAssembler(at: key, order)
      try collect(key, low, high, limit, fromEnd: fromEnd, into: &assembler)
      return try finish(&assembler, key)
    }
  }

  private func collect(
    _ key: Bytes, _ low: Bytes, _ high: Bytes, _ limit: Int, fromEnd: Bool,
    into assembler: inout NodeAssembler
  ) throws(StoreError) {
    var low = low
    if fromEnd, limit < .max { low = try lastChildren(limit, key, low, high) }
    var child = Bytes()
    var count = 0
    try scan(low, high) { entry, leaf, priority in
      if count == 0 || !entry.starts(with: child) {
        guard let end = PathKey.segmentEnd(entry, key.count) else { return .damaged }
        count += 1
        if count > limit { return .enough }
        child = Bytes(entry[..<end])
      }
      return assembler.add(entry, leaf, priority) ? .more : .damaged
    }
  }

  /// Whether a child of a node has a priority; looks at all of the node's runs until one has, and
  /// builds no node.
  func hasChildPriorities(_ key: Bytes) throws(StoreError) -> Bool {
    var isFound = false
    try scan(key + [PathKey.firstChildMark], key + [PathKey.endMark]) { entry, _, priority in
      guard let end = PathKey.segmentEnd(entry, key.count) else { return .damaged }
      let isLeaf = entry.count == end
      let isPriority = entry.count == end + 1 && entry[end] == PathKey.priorityMark
      isFound = isPriority || (isLeaf && priority != nil)
      return isFound ? .enough : .more
    }
    return isFound
  }

  /// Does something that meets damage where entries are not in order, and names the run then whose
  /// entries are out of place: what comes behind such a run is met as damage, though it is sound.
  private func locating<R>(
    _ key: Bytes, _ body: () throws(StoreError) -> R
  ) throws(StoreError) -> R {
    do throws(StoreError) {
      return try body()
    } catch {
      guard error.code == .damaged, error.place?.space == Spaces.runs.id else { throw error }
      let end = key + [PathKey.endMark]
      var head = try runs.run(coveringOrAfter: key)
      while let run = head, bytesPrecede(run.separator, end) {
        if try runs.isMisplaced(run) { throw Damage.error(Spaces.runs, run.storeKey) }
        head = try runs.run(after: run.storeKey)
      }
      throw error
    }
  }

  private func finish(_ assembler: inout NodeAssembler, _ key: Bytes) throws(StoreError) -> Node {
    if let node = assembler.finish() { return node }
    // Only records that were forged or written by a broken version come here.
    guard let run = try runs.run(coveringOrAfter: key) else { return .empty }
    throw Damage.error(Spaces.runs, run.storeKey)
  }

  /// Where the last children of a node begin, reading runs from the end.
  private func lastChildren(
    _ limit: Int, _ key: Bytes, _ low: Bytes, _ high: Bytes
  ) throws(StoreError) -> Bytes {
    var first = high
    var cursor = LeafCursor(runs, low, high, meter)
    var isLeaf = try cursor.last()
    for _ in 0..<limit {
      while isLeaf, !bytesPrecede(cursor.key, first) { isLeaf = try cursor.previous() }
      guard isLeaf else { return max(low, first) }
      guard let child = cursor.child(of: key) else { throw cursor.damage }
      first = child
    }
    return first
  }

  private func max(_ a: Bytes, _ b: Bytes) -> Bytes { bytesPrecede(a, b) ? b : a }

  /// The keys of a node's children after a key.
  func childKeys(_ path: Path, after: Key?, limit: Int) throws(StoreError) -> [Key] {
    let key = PathKey.encode(path, order)
    var keys: [Key] = []
    var low = key + [PathKey.firstChildMark]
    if let after {
      low = key
      PathKey.append(after, order, to: &low)
      low.append(PathKey.endMark)
    }
    var cursor = LeafCursor(runs, low, key + [PathKey.endMark], meter)
    var isLeaf = try cursor.first()
    while isLeaf, keys.count < limit {
      guard let child = cursor.child(of: key),
        let name = child.withUnsafeBytes({ PathKey.key($0, key.count..<child.count, order) })
      else { throw cursor.damage }
      keys.append(name)
      isLeaf = try cursor.seek(child + [PathKey.endMark])
    }
    return keys
  }

  /// Some children of a node, each empty where it is not; runs that hold none of them are not read.
  ///
  /// - Parameter keys: path keys, ascending.
  func children(_ keys: [Bytes]) throws(StoreError) -> [Node] {
    guard let first = keys.first, let last = keys.last else { return [] }
    var nodes: [Node] = []
    var cursor = LeafCursor(runs, first, last + [PathKey.endMark], meter)
    // One for all, since the leaves of siblings have the same names.
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

  // MARK: Scanning

  private enum Answer {
    case more
    case enough
    case damaged
  }

  /// Visits the leaves in `low ..< high` in order: each path key is lent.
  private func scan(
    _ low: Bytes, _ high: Bytes,
    _ visit: (UnsafeRawBufferPointer, consuming Leaf, Priority?) -> Answer
  ) throws(StoreError) {
    var cursor = LeafCursor(runs, low, high, meter)
    var isLeaf = try cursor.first()
    while isLeaf {
      var answer = Answer.more
      var failure: StoreError?
      cursor.entries.lend { lent in
        var index = cursor.index
        while index < cursor.range.upperBound, answer == .more {
          do throws(StoreError) {
            let (leaf, priority) = try whole(lent.leaf(index), cursor)
            answer = visit(lent.key(index), leaf, priority)
          } catch {
            return failure = error
          }
          index += 1
        }
      }
      if let failure { throw failure }
      switch answer {
      case .more: isLeaf = try cursor.nextRun()
      case .enough: return
      case .damaged: throw cursor.damage
      }
    }
  }

  /// A leaf with its priority, put together when it is stored in parts.
  private func whole(
    _ decoded: LeafCodec.Decoded?, _ cursor: borrowing LeafCursor<RunReader>
  ) throws(StoreError) -> (Leaf, Priority?) {
    switch decoded {
    case .leaf(let leaf, let priority): return (leaf, priority)
    case .parts(let reference, let priority):
      let run = cursor.run?.storeKey
      let leaf = try runs.leaf(reference, in: run ?? StoreKey.prefix(runs.tree))
      return (leaf, priority)
    case nil: throw cursor.damage
    }
  }

  // MARK: Whole nodes

  /// Adds the leaves of a node, from the first that a cursor found.
  ///
  /// - Parameters:
  ///   - key: the node's path key.
  ///   - end: behind all path keys of the node.
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
      // Leaves may wait where they fill a good part of what they hold in memory.
      let isLate = order == .realtimeDatabase && (end - first) * 4 >= entries.count
      if isLate { assembler.begin(entries) }
      var failure: StoreError?
      entries.lend { lent in
        var index = first
        while index < end {
          if isLate {
            guard let taken = assembler.addLate(lent, from: index, to: end) else {
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
}

extension LeafCursor {
  /// The path key of the child that the cursor is in, or nil when its key is none of a child.
  fileprivate func child(of node: Bytes) -> Bytes? {
    entries.withKey(index) { key in
      PathKey.segmentEnd(key, node.count).map { Bytes(key[..<$0]) }
    }
  }

  /// What is thrown where entries are not what they should be.
  fileprivate var damage: StoreError { Damage.error(Spaces.runs, run?.storeKey ?? []) }
}
