public import ConiferKeyValue
import ConiferLeafStore

/// The bytes of a store's records by kind, counted in each commit and known without a scan.
///
/// Bytes are those of stored keys and values, after compression, with the space byte.
public struct StorageUsage: Hashable, Sendable {
  /// The bytes of one kind of records before and after compression.
  public struct Packed: Hashable, Sendable {
    /// Bytes of their bodies before compression.
    public var raw: Int
    /// Bytes that they take, keys and checksums included.
    public var stored: Int

    /// Records of one kind.
    public init(raw: Int = 0, stored: Int = 0) {
      self.raw = raw
      self.stored = stored
    }

    /// Bytes before compression for one that is stored; nil without a record.
    public var ratio: Double? { stored > 0 ? Double(raw) / Double(stored) : nil }
  }

  /// Cached leaves packed together: all that are not in large leaves.
  public var runs = Packed()
  /// Small changes of runs, in records of their own until they are folded in.
  public var deltas = Packed()
  /// Cached leaves that are stored on their own, in chunks.
  public var largeLeaves = Packed()
  /// Compression dictionaries, which runs and deltas are packed with.
  public var dictionaries = 0
  /// How many dictionaries there are.
  public var dictionaryCount = 0
  /// Writes in the outbound queue with their path index and finished records.
  public var queue = 0
  /// Tracked queries and their keys.
  public var trackedQueries = 0
  /// Pin records.
  public var pins = 0
  /// Indexes over cached data.
  public var indexes = 0
  /// Everything else: trees' names, metadata, damaged records set aside.
  public var other = 0
  /// Cached leaves and priorities of interior nodes.
  public var leaves = 0

  /// A usage of nothing.
  public init() {}

  /// Bytes of the records of cached leaves: runs, deltas, large leaves. What a cache takes in all is
  /// ``StorageSpace/cache``.
  public var leafBytes: Int { .sum(runs.stored, deltas.stored, largeLeaves.stored) }
  /// Bytes of cached leaves before compression.
  public var rawLeafBytes: Int { .sum(runs.raw, deltas.raw, largeLeaves.raw) }
  /// All bytes together.
  public var total: Int {
    .sum(leafBytes, dictionaries, queue, trackedQueries, pins, indexes, other)
  }
}

/// A report of damage that a store met, and dropped, set aside or left where it is, instead of losing it
/// silently.
public struct Incident: Hashable, Sendable, CustomStringConvertible {
  /// Whether damaged data was dropped, set aside or left, and what kind of data it was.
  public enum Kind: String, Sendable {
    /// A damaged range of the cache was dropped; the queries over it are incomplete now.
    case cacheRangeDropped
    /// A damaged range of data that must not be dropped, such as an authority's, was met. It stays where it is with its
    /// bytes: what reads or changes it fails, and all around it goes on.
    case rangeUnreadable
    /// A damaged queued write was set aside with its bytes.
    case writeSetAside
    /// Another damaged record was set aside with its bytes.
    case recordSetAside
  }

  /// The kind of the damaged data, and what was done about it.
  public let kind: Kind
  /// The tree that it belongs to.
  public let tree: TreeID
  /// The place of the damage, in words.
  public let place: String
  /// The bytes that were found there, if they were kept.
  public let bytes: [UInt8]

  /// A report of damage.
  public init(kind: Kind, tree: TreeID, place: String, bytes: [UInt8]) {
    self.kind = kind
    self.tree = tree
    self.place = place
    self.bytes = bytes
  }

  /// What was done and where, in one line.
  public var description: String {
    "\(kind.rawValue) in tree \(tree.rawValue) at \(place), \(bytes.count) bytes kept"
  }
}
