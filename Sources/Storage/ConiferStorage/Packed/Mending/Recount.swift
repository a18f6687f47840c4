import ConiferKeyValue
import ConiferLeafStore

/// Counts a tree's records in a frozen view, in slices.
///
/// Commits continue in the meantime: what each of them changes in the stored counts is added to the
/// result.
struct Recount: Sendable {
  let tree: TreeID
  private var sizes: [SpaceScan]
  private var bodies: [SpaceScan]
  private var found = UsageRow()
  /// The highest number of a dictionary that is in use.
  private var named: UInt32 = 0
  /// What commits have changed since the view was taken.
  private var changes = UsageRow()

  init(_ tree: TreeID) {
    self.tree = tree
    sizes = Spaces.all.filter { $0 != Spaces.usage }.map { SpaceScan($0, tree) }
    bodies = [Spaces.runs, Spaces.deltas, Spaces.chunks, Spaces.dictionaries]
      .map { SpaceScan($0, tree) }
  }

  var isDone: Bool { sizes.isEmpty && bodies.isEmpty }

  /// About how many bytes of records were read so far.
  private(set) var bytesRead = 0

  /// Counts the next slice.
  ///
  /// - Parameter view: the same one for all slices.
  mutating func step(_ view: any OrderedView) throws(StoreError) {
    if var scan = sizes.first {
      let space = scan.space
      try scan.sizes(view) { key, size in countSize(space, key, size) }
      bytesRead.add(scan.bytesRead - (sizes.first?.bytesRead ?? 0))
      if scan.isDone { sizes.removeFirst() } else { sizes[0] = scan }
    } else if var scan = bodies.first {
      for (key, value) in try scan.records(view) { countBody(scan.space, key, value) }
      bytesRead.add(scan.bytesRead - (bodies.first?.bytesRead ?? 0))
      if scan.isDone { bodies.removeFirst() } else { bodies[0] = scan }
    }
  }

  private mutating func countSize(_ space: Space, _ key: Bytes, _ size: Int) {
    found.bytes[space.id, default: 0].add(1 + key.count + size)
    switch space {
    case Spaces.queries: if key.count == 12 { found.queries += 1 }
    case Spaces.deltas, Spaces.chunks:
      // A run that cannot be read may have deltas, whose keys contain its number.
      let number = StoreKey.numberAfterTree(key)
      if number <= Numbers.lastLikelyRun { found.nextRun = max(found.nextRun, number + 1) }
    case Spaces.dictionaries:
      found.dictionaries += 1
      named = max(named, min(DictionaryRecord.number(key), Numbers.lastDictionary))
    default: break
    }
  }

  /// A record that cannot be read is not counted: it is set aside when it is read, and then usage
  /// is counted again.
  private mutating func countBody(_ space: Space, _ key: Bytes, _ value: Bytes) {
    guard Record.isIntact(space, key, value) else { return }
    switch space {
    case Spaces.runs:
      guard let head = try? RunHead(storeKey: key, value: value) else { return }
      found.leaves.add(head.count)
      found.raw.runs.add(head.rawCount)
      found.nextRun = max(found.nextRun, head.number + 1)
      named = max(named, min(head.dictionary, Numbers.lastDictionary))
    case Spaces.deltas:
      guard let delta = try? DeltaRecord.Head(key: key, value: value) else { return }
      found.leaves.add(delta.leaves)
      found.raw.deltas.add(delta.rawCount)
      named = max(named, min(delta.dictionary, Numbers.lastDictionary))
    case Spaces.chunks:
      var reader = ByteReader(value, from: Record.overhead + 1)
      found.raw.largeLeaves.add(reader.size() ?? 0)
    case Spaces.dictionaries:
      if DictionaryRecord.kind(key, value) == DictionaryRecord.bodies {
        found.newestDictionary = DictionaryRecord.number(key)
      }
    default: break
    }
  }

  /// Counts what a commit changed since the view was taken.
  mutating func adjust(from old: UsageRow, to new: UsageRow) {
    changes.leaves.add(new.leaves - old.leaves)
    changes.raw = changes.raw + new.raw + -old.raw
    changes.queries.add(new.queries - old.queries)
    changes.dictionaries.add(new.dictionaries - old.dictionaries)
    for space in Set(old.bytes.keys).union(new.bytes.keys) {
      changes.bytes[space, default: 0].add((new.bytes[space] ?? 0) - (old.bytes[space] ?? 0))
    }
  }

  /// The row to store.
  ///
  /// - Parameter row: the stored row, whose numbers are continued; nil when it cannot be read.
  func result(_ row: UsageRow?) -> UsageRow {
    var result = found
    result.leaves.add(changes.leaves)
    result.raw = result.raw + changes.raw
    result.queries.add(changes.queries)
    result.dictionaries.add(changes.dictionaries)
    for (space, bytes) in changes.bytes { result.bytes[space, default: 0].add(bytes) }
    result.bytes = result.bytes.filter { $0.value != 0 }
    result.nextDictionary = named + 1
    if let row {
      result.nextRun = max(row.nextRun, found.nextRun)
      result.nextDictionary = max(row.nextDictionary, named + 1)
      if row.newestDictionary != 0 { result.newestDictionary = row.newestDictionary }
      result.recent = row.recent
    }
    return result
  }

  /// Counts a tree at once, and returns the row to store.
  static func whole(_ view: any OrderedView, _ tree: TreeID) throws(StoreError) -> UsageRow {
    var recount = Recount(tree)
    while !recount.isDone { try recount.step(view) }
    return recount.result(
      try undamaged { () throws(StoreError) in try UsageRow.read(view, tree) })
  }
}
