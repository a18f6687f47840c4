import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Finds the orphans of one tree in a frozen view, in slices: records that nothing refers to.
///
/// Numbers of runs never repeat, so an orphan of a run stays one. A query may be tracked again and
/// a write may be restored, so their orphans are checked again before they are removed.
struct OrphanSweep: Sendable {
  /// An orphan.
  typealias Orphan = (space: Space, key: Bytes)

  let tree: TreeInfo
  private var scans: [SpaceScan]
  private var runs = NumberFilter()
  private var largeLeaves = NumberFilter()
  /// Whether some record could not be read, so that its references are unknown.
  private var hasUnreadable = false

  /// - Parameter role: an authority's data is kept even if nothing refers to it.
  init(_ tree: TreeInfo, _ role: StoreRole) {
    self.tree = tree
    // Runs come first: they refer to the others.
    let data = role == .cache ? [Spaces.runs, Spaces.deltas, Spaces.chunks] : []
    let others = [
      Spaces.queueParts, Spaces.queueIndex, Spaces.queryIndex, Spaces.queryKeys,
      Spaces.collections,
    ]
    scans = (data + others).map { SpaceScan($0, tree.id) }
  }

  var isDone: Bool { scans.isEmpty }

  /// About how many bytes of records were read so far.
  private(set) var bytesRead = 0

  /// Looks at the next slice.
  ///
  /// - Parameter snapshot: the same one for all slices.
  mutating func step(_ snapshot: LeafSnapshot) throws(StoreError) -> [Orphan] {
    guard var scan = scans.first else { return [] }
    var orphans: [Orphan] = []
    if scan.space == Spaces.runs || scan.space == Spaces.deltas {
      let reader = RunReader(view: snapshot, tree: tree.id)
      for (key, value) in try scan.records(snapshot) {
        do throws(StoreError) {
          if try !isNeeded(scan.space, key, value, reader) { orphans.append((scan.space, key)) }
        } catch {
          guard [.damaged, .wrongKey, .unsupported, .newerFormat].contains(error.code) else {
            throw error
          }
          hasUnreadable = true
        }
      }
      hasUnreadable = hasUnreadable || scan.hasSkipped
    } else {
      var keys: [Bytes] = []
      try scan.sizes(snapshot) { key, _ in keys.append(key) }
      for key in keys {
        do throws(StoreError) {
          if try !isNeeded(scan.space, key, snapshot) { orphans.append((scan.space, key)) }
        } catch {
          // If records cannot be read here, the row may belong to one of them.
          guard [.wrongKey, .unsupported, .newerFormat].contains(error.code) else { throw error }
        }
      }
    }
    bytesRead.add(scan.bytesRead - (scans.first?.bytesRead ?? 0))
    if scan.isDone { scans.removeFirst() } else { scans[0] = scan }
    return orphans
  }

  /// Whether an orphan of the view is still one.
  ///
  /// - Parameter view: of a later generation.
  func isStill(_ orphan: Orphan, in view: any LeafView) throws(StoreError) -> Bool {
    switch orphan.space {
    case Spaces.runs, Spaces.deltas, Spaces.chunks: true
    default: try !isNeeded(orphan.space, orphan.key, view)
    }
  }

  /// Records what a run or a delta refers to; false for a delta without a run.
  private mutating func isNeeded(
    _ space: Space, _ key: Bytes, _ value: Bytes, _ reader: RunReader
  ) throws(StoreError) -> Bool {
    if space == Spaces.runs {
      let head = try RunHead(storeKey: key, value: value)
      runs.insert(head.number)
      guard head.flags & RunHead.hasLargeLeaves != 0 else { return true }
      let entries = try reader.entries(head)
      for index in entries.indices where entries.isLargeLeaf(index) {
        if let number = LargeLeaf.number(entries[index]) { largeLeaves.insert(number) }
      }
      return true
    }
    guard hasUnreadable || runs.contains(StoreKey.numberAfterTree(key)) else { return false }
    for case .put(let entry) in try DeltaRecord(key: key, value: value, reader.unpacking).changes {
      if let number = LargeLeaf.number(entry) { largeLeaves.insert(number) }
    }
    return true
  }

  private func isNeeded(
    _ space: Space, _ key: Bytes, _ view: any LeafView
  ) throws(StoreError) -> Bool {
    do throws(StoreError) {
      switch space {
      case Spaces.chunks:
        return hasUnreadable || largeLeaves.contains(StoreKey.numberAfterTree(key))
      case Spaces.queueParts, Spaces.queueIndex: return try isOfWrite(space, key, view)
      case Spaces.queryIndex:
        let queries = Queries(view: view, tree: tree.id, order: tree.order)
        guard let value = try view.value(space, key) else { return true }
        return try isQuery(try queries.number(key, value), view)
      case Spaces.collections:
        guard let value = try view.value(space, key) else { return true }
        let collection = try CollectionRows(view: view, tree: tree.id).collection(key, value)
        return try DocumentReader(runs: RunReader(view: view, tree: tree.id))
          .isThere(collection)
      default: return try isQuery(QueryID(rawValue: StoreKey.numberAfterTree(key)), view)
      }
    } catch {
      // The next read of the record repairs it.
      guard [.damaged, .wrongKey].contains(error.code) else { throw error }
      return true
    }
  }

  private func isQuery(_ id: QueryID, _ view: any LeafView) throws(StoreError) -> Bool {
    let key = Queries(view: view, tree: tree.id, order: tree.order).key(id)
    return try view.keys(Spaces.queries, prefix: key, limit: 1).first == key
  }

  /// Whether the write of a row or part exists; rows of the index belong only to waiting writes.
  private func isOfWrite(
    _ space: Space, _ key: Bytes, _ view: any LeafView
  ) throws(StoreError) -> Bool {
    guard let end = key.dropFirst(4).firstIndex(of: 0) else { return true }
    let own = key[(end + 1)...]
    guard own.count >= 8 else { return true }
    let number = Bytes(space == Spaces.queueParts ? own.prefix(8) : own.suffix(8))
    let sections: [QueueReader.Section] =
      space == Spaces.queueParts ? [.unanswered, .rejected] : [.unanswered]
    for section in sections {
      let write = key[...end] + [section.rawValue] + number
      if try view.keys(Spaces.queue, prefix: Bytes(write), limit: 1).first == Bytes(write) {
        return true
      }
    }
    return false
  }
}

/// A set of numbers of fixed size, which may have false positives.
struct NumberFilter: Sendable {
  /// A mebibyte: consecutive numbers do not collide up to eight million of them.
  private static let bits: UInt64 = 1 << 23
  private var words: [UInt64] = []

  mutating func insert(_ number: UInt64) {
    if words.isEmpty { words = Array(repeating: 0, count: Int(Self.bits / 64)) }
    let bit = number % Self.bits
    words[Int(bit / 64)] |= 1 << (bit % 64)
  }

  func contains(_ number: UInt64) -> Bool {
    guard !words.isEmpty else { return false }
    let bit = number % Self.bits
    return words[Int(bit / 64)] & 1 << (bit % 64) != 0
  }
}
