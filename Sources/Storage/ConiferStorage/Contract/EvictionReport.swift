public import ConiferKeyValue
public import ConiferTree

/// A report of what an eviction removed, or would remove.
///
/// Bytes are physical, as in ``StorageSpace``.
public struct EvictionReport: Hashable, Sendable {
  /// A tracked query that an eviction forgot so that its data could go.
  public struct Query: Hashable, Sendable {
    /// Its tree.
    public var tree: TreeID
    /// The path at which it listened.
    public var path: Path
    /// The canonical text of its parameters.
    public var parameters: String
    /// Its last use, on the backend's counter.
    public var lastUse: UInt64
    /// The bytes that its removal freed.
    public var bytes: Int

    /// A tracked query that was forgotten.
    public init(tree: TreeID, path: Path, parameters: String, lastUse: UInt64, bytes: Int) {
      self.tree = tree
      self.path = path
      self.parameters = parameters
      self.lastUse = lastUse
      self.bytes = bytes
    }
  }

  /// The bytes that the cache took before.
  public var before: Int
  /// The bytes that it takes now, or would take.
  public var after: Int
  /// The bytes to which the cache was to be brought down; nil when only the number of queries was
  /// too large.
  public var target: Int?
  /// The bytes that were freed of data that no tracked query covered; that goes first.
  public var uncovered: Int
  /// The queries that went, the least recently used first.
  public var queries: [Query]
  /// Whether nothing was changed.
  public var isDryRun: Bool

  /// A report of an eviction.
  public init(
    before: Int = 0, after: Int = 0, target: Int? = nil, uncovered: Int = 0, queries: [Query] = [],
    isDryRun: Bool = false
  ) {
    self.before = before
    self.after = after
    self.target = target
    self.uncovered = uncovered
    self.queries = queries
    self.isDryRun = isDryRun
  }

  /// Whether the target was reached; if not, the rest is pinned, active, or waits for writes.
  public var isMet: Bool { target.map { after <= $0 } ?? true }
}

/// An explanation of what the cached data at and below a path takes, why it is kept, and when it
/// would be evicted.
public struct SpaceExplanation: Hashable, Sendable {
  /// A pin, a waiting write or a query that keeps data in the cache.
  public enum Reason: Hashable, Sendable {
    /// A pin at the path or above covers it.
    case pinned(Pin)
    /// Writes wait for the document: it stays until they are answered.
    case written
    /// A query at the path or above is active.
    case active(StoredQuery)
    /// A query at the path or above is tracked; this many less recently used ones are evicted
    /// before it.
    case tracked(StoredQuery, before: Int)
  }

  /// When eviction would remove data, once the cache is over its budget.
  public enum Fate: Hashable, Sendable {
    /// Not while its pins, waiting writes and active queries last.
    case stays
    /// Before everything else: nothing covers it.
    case first
    /// Part after part: nothing covers the whole, but something does parts of it.
    case parts
    /// Nothing is cached there.
    case absent
    /// After so many less recently used queries.
    case afterQueries(Int)
    /// Never: the store is an authority.
    case never
  }

  /// The tree.
  public var tree: TreeID
  /// The path.
  public var path: Path
  /// Physical bytes of the data at and below the path.
  ///
  /// A run of leaves that reaches beyond the path counts by its leaves' share.
  public var bytes: Int
  /// How many leaves, and priorities of interior nodes, lie there.
  public var leaves: Int
  /// The part of the bytes that pins cover, also those of paths below.
  public var pinned: Int
  /// The part that documents with waiting writes take and no pin covers.
  public var written: Int
  /// The part that active queries cover, and neither a pin nor waiting writes do.
  public var active: Int
  /// The part that other tracked queries cover.
  public var tracked: Int
  /// The part that nothing covers.
  public var uncovered: Int
  /// The pins, waiting writes and queries that cover the whole path; the strongest reasons first.
  public var reasons: [Reason]
  /// How many queued writes change something at, above or below the path; they are never evicted,
  /// nor are the documents that they change.
  public var pendingWrites: Int
  /// When all of it goes, by what covers the whole path and lasts longest.
  public var fate: Fate

  /// An explanation of what cached data takes, and why it is kept.
  public init(
    tree: TreeID, path: Path, bytes: Int = 0, leaves: Int = 0, pinned: Int = 0, written: Int = 0,
    active: Int = 0, tracked: Int = 0, uncovered: Int = 0, reasons: [Reason] = [],
    pendingWrites: Int = 0, fate: Fate = .first
  ) {
    self.tree = tree
    self.path = path
    self.bytes = bytes
    self.leaves = leaves
    self.pinned = pinned
    self.written = written
    self.active = active
    self.tracked = tracked
    self.uncovered = uncovered
    self.reasons = reasons
    self.pendingWrites = pendingWrites
    self.fate = fate
  }
}
