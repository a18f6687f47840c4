import ConiferKeyValue
import ConiferLeafStore

/// Records of a tree that exist nowhere else, or that say what the cache holds: they are compared with their counts
/// after each opening.
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

  /// The bytes that a tree's usage counts.
  func bytes(in usage: UsageRow) -> Int {
    spaces.reduce(0) { $0 + (usage.bytes[$1.id] ?? 0) }
  }

  /// The bytes that are there, by keys and sizes alone.
  ///
  /// - Parameter most: where counting ends.
  func bytes(
    of tree: TreeID, in view: any OrderedView, atMost most: Int
  ) throws(StoreError) -> Int {
    var bytes = 0
    let prefix = StoreKey.prefix(tree)
    for space in spaces {
      try view.walkKeys(space, .atOrAfter(prefix)) { key, size in
        guard key.starts(with: prefix), bytes <= most else { return .stop }
        bytes.add(Self.bytes(key.byteCount, size))
        return .next
      }
    }
    return bytes
  }

  /// What a record counts.
  static func bytes(_ key: Int, _ value: Int) -> Int { 1 + key + value }

  /// Whether the keys of some records are missing: nobody can say what belongs to them.
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
