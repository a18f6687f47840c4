import ConiferKeyValue
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
    if slice == .all, let leaf = runs.currentLeaf(key) { return leaf }
    return try locating(key) { () throws(StoreError) in
      guard slice == .all else { return try part(key, slice) }
      var assembler = NodeAssembler(at: key, order)
      try assemble(key, key + [PathKey.endMark], &assembler)
      return try finish(&assembler, key)
    }
  }

  /// A leaf, or a limited or bounded part of an interior node with its priority.
  private func part(_ key: Bytes, _ slice: NodeSlice) throws(StoreError) -> Node {
    var assembler = NodeAssembler(at: key, order)
    var isLeaf = false
    var hasChild = false
    try scan(key, key + [PathKey.endMark]) { entry, _, leaf, priority in
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
    try scan(low, high) { entry, shared, leaf, priority in
      if count == 0 || !entry.starts(with: child) {
        guard let end = PathKey.segmentEnd(entry, key.count) else { return .damaged }
        count += 1
        if count > limit { return .enough }
        child = Bytes(entry[..<end])
      }
      return assembler.add(entry, sharing: shared, leaf, priority) ? .more : .damaged
    }
  }

  /// Whether a child of a node has a priority; looks at all of the node's runs until one has, and
  /// builds no node.
  func hasChildPriorities(_ key: Bytes) throws(StoreError) -> Bool {
    var isFound = false
    try scan(key + [PathKey.firstChildMark], key + [PathKey.endMark]) { entry, _, _, priority in
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
    var count = 0
    var head = try runs.run(covering: high)
    while let run = head {
      meter?.note(run)
      let entries = try runs.merged(run)
      for entry in entries.reversed() where bytesPrecede(entry.key, first) {
        if bytesPrecede(entry.key, low) { return max(low, first) }
        guard let end = entry.key.withUnsafeBytes({ PathKey.segmentEnd($0, key.count) }) else {
          throw Damage.error(Spaces.runs, run.storeKey)
        }
        first = Bytes(entry.key[..<end])
        count += 1
        if count == limit { return first }
      }
      if !bytesPrecede(low, run.separator) { break }
      head = try runs.run(before: run.storeKey)
    }
    return max(low, first)
  }

  private func max(_ a: Bytes, _ b: Bytes) -> Bytes { bytesPrecede(a, b) ? b : a }

  /// The keys of a node's children after a key.
  func childKeys(_ path: Path, after: Key?, limit: Int) throws(StoreError) -> [Key] {
    let key = PathKey.encode(path, order)
    var keys: [Key] = []
    guard limit > 0 else { return keys }
    var low = key + [PathKey.firstChildMark]
    if let after {
      low = key
      PathKey.append(after, order, to: &low)
      low.append(PathKey.endMark)
    }
    let high = key + [PathKey.endMark]
    var head = try runs.run(coveringOrAfter: low)
    while let run = head, bytesPrecede(run.separator, high) {
      for entry in try runs.merged(run) {
        guard !bytesPrecede(entry.key, low) else { continue }
        guard bytesPrecede(entry.key, high) else { return keys }
        guard
          let child = entry.key.withUnsafeBytes({ bytes in
            PathKey.segmentEnd(bytes, key.count).flatMap { end in
              PathKey.key(bytes, key.count..<end, order).map { ($0, end) }
            }
          })
        else { throw Damage.error(Spaces.runs, run.storeKey) }
        keys.append(child.0)
        if keys.count == limit { return keys }
        low = Bytes(entry.key[..<child.1]) + [PathKey.endMark]
      }
      // The rest of a child that fills whole runs is skipped, not read.
      let next = try runs.run(after: run.storeKey)
      if let next, bytesPrecede(next.separator, low) {
        let jump = try runs.run(covering: low)
        head = jump.map { bytesPrecede(run.storeKey, $0.storeKey) ? $0 : next } ?? next
      } else {
        head = next
      }
    }
    return keys
  }

  // MARK: Scanning

  private enum Answer {
    case more
    case enough
    case damaged
  }

  /// Is lent a path key, and given how many bytes it is known to share with the one before, and its
  /// leaf.
  private typealias Visit = (UnsafeRawBufferPointer, Int, consuming Leaf, Priority?) -> Answer

  /// Visits the entries in `low ..< high` in order.
  private func scan(_ low: Bytes, _ high: Bytes, _ visit: Visit) throws(StoreError) {
    var head = try runs.run(coveringOrAfter: low)
    while let run = head, bytesPrecede(run.separator, high) {
      meter?.note(run)
      var isOver = false
      if let kept = try runs.kept(run) {
        isOver = try scan(run, kept.entries, low, high, visit)
      } else {
        let deltas = try runs.deltas(of: run)
        if deltas.isEmpty {
          isOver = try scan(run, low, high, visit)
        } else {
          let entries = try runs.entries(run).merged(deltas.flatMap(\.delta.changes))
          isOver = try scan(run, entries, low, high, visit)
        }
      }
      if isOver { return }
      head = try runs.run(after: run.storeKey)
    }
  }

  /// Visits the entries of one decoded run; true when the scan is over.
  private func scan(
    _ run: RunHead, _ entries: EntryList, _ low: Bytes, _ high: Bytes, _ visit: Visit
  ) throws(StoreError) -> Bool {
    let end = entries.lowerBound(high)
    var failure: StoreError?
    let isOver = entries.visit(min(entries.lowerBound(low), end)..<end) { key, leaf in
      step(run, key, leaf, visit, &failure)
    }
    if let failure { throw failure }
    return isOver || end < entries.count
  }

  /// Visits an entry; true when the scan is over.
  ///
  /// - Parameter failure: an error, as entries are lent to closures that do not throw.
  private func step(
    _ run: RunHead, _ key: UnsafeRawBufferPointer, _ decoded: LeafCodec.Decoded?, _ visit: Visit,
    _ failure: inout StoreError?
  ) -> Bool {
    do throws(StoreError) {
      guard let decoded else { throw Damage.error(Spaces.runs, run.storeKey) }
      let (leaf, priority) = try whole(decoded, run)
      switch visit(key, 0, leaf, priority) {
      case .more: return false
      case .enough: return true
      case .damaged: throw Damage.error(Spaces.runs, run.storeKey)
      }
    } catch {
      failure = error
      return true
    }
  }

  /// Visits the entries of one run without deltas; true when the scan is over.
  private func scan(
    _ run: RunHead, _ low: Bytes, _ high: Bytes, _ visit: Visit
  ) throws(StoreError) -> Bool {
    var failure: StoreError?
    let isOver = try run.withCursor(runs.source) { cursor in
      low.withUnsafeBytes { low in
        high.withUnsafeBytes { high in
          var isInside = false
          while cursor.next() {
            var shared = cursor.shared
            if !isInside {
              if compareBytes(cursor.key, low) < 0 {
                cursor.skip()
                continue
              }
              isInside = true
              shared = 0
            }
            // What shares more with the key before than the end of the range has is before it too.
            if shared < high.count, compareBytes(cursor.key, high) >= 0 { return true }
            guard let leaf = cursor.plainLeaf() else {
              // A damaged value ends the cursor, which tells of it.
              guard let decoded = cursor.leaf() else { return true }
              if step(run, cursor.key, decoded, visit, &failure) { return true }
              continue
            }
            switch visit(cursor.key, shared, leaf, nil) {
            case .more: continue
            case .enough: return true
            case .damaged:
              failure = Damage.error(Spaces.runs, run.storeKey)
              return true
            }
          }
          return false
        }
      }
    }
    if let failure { throw failure }
    return isOver
  }

  /// A leaf with its priority, put together when it is stored in parts.
  func whole(
    _ decoded: LeafCodec.Decoded, _ run: RunHead
  ) throws(StoreError) -> (Leaf, Priority?) {
    if case .leaf(let leaf, let priority) = decoded { return (leaf, priority) }
    guard case .leaf(let leaf, let priority) = try runs.leaf(decoded, in: run.storeKey) else {
      throw Damage.error(Spaces.runs, run.storeKey)
    }
    return (leaf, priority)
  }
}
