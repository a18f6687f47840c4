import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Parts of nodes: slices, children, and their keys.
extension TreeReader {
  /// A leaf, or a limited or bounded part of an interior node with its priority.
  func part(_ key: Bytes, _ slice: NodeSlice) throws(StoreError) -> Node {
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
    // A node without children cannot have a priority, so an empty slice is the empty node.
    guard limit > 0 else { return .empty }
    try collect(key, low, high, limit, fromEnd: slice.fromEnd, into: &assembler)
    return try finish(&assembler, key)
  }

  /// The priority of a node, without its children.
  func priority(_ key: Bytes) throws(StoreError) -> Priority? {
    try locating(key) { () throws(StoreError) in
      var own: Priority?
      var hasNode = false
      try scan(key, key + [PathKey.endMark]) { entry, leaf, priority in
        guard entry.count == key.count + 1, entry.last == PathKey.priorityMark else {
          if entry.count == key.count { own = priority }
          hasNode = true
          return .enough
        }
        own = Priority(leaf)
        return own == nil ? .damaged : .more
      }
      // A node without children does not exist, so it has no priority.
      return hasNode ? own : nil
    }
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

  /// Whether a child of a node has a priority. It reads the node's runs until it finds one, without
  /// building a node.
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
  ///
  /// - Throws: `invalid` in a tree of documents.
  func childKeys(_ path: Path, after: Key?, limit: Int) throws(StoreError) -> [Key] {
    try order.requireNodes()
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
}
