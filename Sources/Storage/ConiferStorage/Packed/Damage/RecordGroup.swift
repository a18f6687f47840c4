import ConiferKeyValue
import ConiferLeafStore

/// Records of a tree that are compared with their counts after each opening.
enum RecordGroup: CaseIterable {
  case queue
  case pins
  case queries

  var spaces: [Space] {
    switch self {
    case .queue:
      [
        Spaces.queue, Spaces.queueParts, Spaces.queueIndex, Spaces.finished, Spaces.overlays,
        Spaces.earlierOverlays,
      ]
    case .pins: [Spaces.pins]
    case .queries: [Spaces.queries, Spaces.queryIndex, Spaces.queryKeys, Spaces.changes]
    }
  }

  /// What they are, for a report.
  var words: String {
    switch self {
    case .queue: "the queued writes"
    case .pins: "the pins"
    case .queries: "the tracked queries"
    }
  }

  /// The bytes of all groups that a tree's usage counts.
  static func bytes(in usage: UsageRow) -> Int {
    allCases.flatMap(\.spaces).reduce(0) { $0 + (usage.bytes[$1.id] ?? 0) }
  }

  /// What a record counts.
  static func bytes(_ key: Int, _ value: Int) -> Int { 1 + key + value }

  /// Whether the keys of some records are missing, so that only their sizes can be read.
  func isLocked(_ tree: TreeID, in view: any OrderedView) throws(StoreError) -> Bool {
    let prefix = StoreKey.prefix(tree)
    var isLocked = false
    for space in spaces where !isLocked {
      try view.walkLocked(space, .atOrAfter(prefix)) { key, _, _ in
        isLocked = key.starts(with: prefix)
        return .stop
      }
    }
    return isLocked
  }
}

/// How far the records of some groups of a tree are from their counts.
struct GroupComparison {
  let tree: TreeID
  private let usage: UsageRow
  /// The bytes that were found, by space.
  private var found: [UInt8: Int] = [:]

  init(_ tree: TreeID, _ usage: UsageRow) { (self.tree, self.usage) = (tree, usage) }

  /// Adds what was found in a space.
  mutating func add(_ bytes: Int, _ space: Space) { found[space.id, default: 0].add(bytes) }

  /// The groups that differ. Each space is compared for itself.
  var losses: [RecordLoss] {
    RecordGroup.allCases.compactMap { group in
      var (missing, extra, writes) = (0, 0, false)
      for space in group.spaces {
        let difference = (usage.bytes[space.id] ?? 0) - (found[space.id] ?? 0)
        if difference > 0 { missing.add(difference) } else { extra.add(-difference) }
        if difference > 0, [Spaces.queue, Spaces.queueParts].contains(space) { writes = true }
      }
      guard missing > 0 || extra > 0 else { return nil }
      return RecordLoss(
        tree: tree, what: .records(group, missing: missing, extra: extra, writes: writes))
    }
  }
}
