public import ConiferKeyValue
public import ConiferTree

/// One change of a store's contents; a commit takes a list of them and is atomic.
///
/// Edits apply in order, and each sees what the earlier ones of its commit did.
public enum StorageEdit: Sendable {
  // MARK: Cache

  /// Replaces the node at a path with server data, or with imported data.
  ///
  /// Data above that was a leaf becomes interior; an empty node deletes and drops parents that have
  /// no child left; nothing below a leaf is deleted by an empty node. A last segment `.priority`
  /// sets or removes the priority of a node that exists. An equal write writes nothing.
  case overwrite(TreeID, Path, Node)
  /// Replaces several nodes below a path, given by relative paths, and leaves their siblings.
  case merge(TreeID, Path, [NodeChange])
  /// Removes cached data as the forest says, and keeps what a pin protects.
  case prune(TreeID, PruneForest)

  // MARK: Tracked queries

  /// Adds a tracked query or replaces what is stored of it; known by tree, path and parameters.
  case saveQuery(TrackedQuery)
  /// Forgets a tracked query and its keys.
  case removeQuery(TreeID, QueryID)
  /// Replaces the set of keys that a filtered query holds.
  case setTrackedKeys(TreeID, QueryID, [Key])
  /// Adds to and removes from the set of keys that a filtered query holds.
  case updateTrackedKeys(TreeID, QueryID, added: [Key], removed: [Key])

  // MARK: Pins

  /// Protects a query or path from eviction.
  case pin(Pin)
  /// Ends a protection.
  case unpin(Pin)

  // MARK: Documents

  /// Changes what is cached of a tree of documents; refused as `invalid` in any other tree.
  case documents(TreeID, [DocumentEdit])

  // MARK: Indexes

  /// Replaces the declared indexes of a tree by these; indexes that are already declared stay as
  /// they are.
  ///
  /// A backend builds new ones from the data there is, in slices between commits, and keeps them in
  /// the commits that change data. Refused as `unsupported` by a store that is encrypted, since values
  /// stand in the keys of an index, and as `invalid` in a tree whose order is not that of queries.
  case setIndexes(TreeID, [IndexDefinition])

  // MARK: Outbound queue

  /// Appends a write of any model to a lane; the receipt tells its number.
  case enqueue(Lane, WritePayload)
  /// Puts a write back under its number, as salvage and migration do; replaces one that is there.
  case restore(Lane, QueueEntry)
  /// Replaces what a waiting or rejected write asks for, and queues it again.
  case replace(Lane, WriteID, WritePayload)
  /// Marks a write sent, queued again, of unknown outcome, or rejected with a reason.
  ///
  /// A transition to `.sent` counts an attempt.
  case setState(Lane, WriteID, WriteState)
  /// Takes a write out of the queue and remembers how it ended.
  case finish(Lane, WriteID, WriteOutcome)
  /// Discards every write of a lane, rejected ones too; they are remembered as discarded.
  case purge(Lane)

  // MARK: Faithful copies

  /// Saves a tracked query under its number, as migration does; refused when the number is another
  /// query's, or the query is known under another number.
  case restoreQuery(StoredQuery)
  /// Reserves numbers: no new query gets this number or a lower one.
  case reserveQueryIDs(TreeID, through: QueryID)
  /// Remembers how a write ended under its number; refused when the write is not finished.
  case restoreFinished(Lane, FinishedWrite)
  /// Reserves numbers: no new write of a lane gets this number or a lower one.
  case reserveWriteIDs(Lane, through: WriteID)
  /// Gives new writes of all lanes numbers above this one, so that lost numbers do not repeat; a lower
  /// number than the current one changes nothing.
  case raiseQueueFloor(WriteID)
  /// Adds a report of damage that another store made, with the bytes that it kept.
  case report(Incident)

  // MARK: The rest

  /// Stores bytes under a name in a tree, or removes them with nil.
  case setMetadata(TreeID, String, [UInt8]?)
  /// Removes a tree with its cache, tracked queries, pins, queues and metadata.
  case wipe(TreeID)
}

/// The result of a commit, which is its number and the numbers of its new writes and queries.
public struct CommitReceipt: Sendable, Equatable {
  /// The commit, for `harden`.
  public let commit: CommitID
  /// The numbers of the enqueued writes, in the order of their edits.
  public let writes: [WriteID]
  /// The numbers of the saved queries, in the order of their edits.
  public let queries: [QueryID]

  /// The result of a commit.
  public init(commit: CommitID, writes: [WriteID] = [], queries: [QueryID] = []) {
    self.commit = commit
    self.writes = writes
    self.queries = queries
  }
}

/// A set of markers by path that says which parts of a tree a prune removes: the deepest marker
/// above a leaf decides.
///
/// Data under no marker stays.
public struct PruneForest: Hashable, Sendable {
  /// Whether a prune removes or keeps the data at and below a path.
  public enum Marker: Hashable, Sendable {
    /// It goes.
    case prune
    /// It stays.
    case keep
  }

  /// The markers by path, from the tree's root.
  public var markers: [Path: Marker]

  /// A forest.
  public init(_ markers: [Path: Marker] = [:]) { self.markers = markers }
}
