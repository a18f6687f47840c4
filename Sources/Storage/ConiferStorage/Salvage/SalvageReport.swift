public import ConiferKeyValue

/// A report of what was saved of a damaged store, and what was not.
public struct SalvageReport: Sendable {
  /// The numbers of writes that were saved of a lane.
  public struct Queue: Hashable, Sendable {
    /// The identity of the lane.
    public let identity: String
    /// Writes that wait.
    public let waiting: Int
    /// Writes that a server rejected.
    public let rejected: Int
  }

  /// The numbers of leaves, queries, pins and writes that were saved of a tree.
  public struct Tree: Hashable, Sendable {
    /// Its name; a lost name is replaced by a new one.
    public let name: String
    /// Its key order, which also tells whether its leaves are values or documents.
    public let order: KeyOrder
    /// Cached leaves: each a value, in a tree of documents each a document.
    public let leaves: Int
    /// Tracked queries of which nothing can be missing.
    public let completeQueries: Int
    /// Tracked queries that must be fetched again.
    public let incompleteQueries: Int
    /// Pins.
    public let pins: Int
    /// Its lanes.
    public let queues: [Queue]
  }

  /// The trees of the new store.
  public internal(set) var trees: [Tree] = []
  /// The names of the new store's trees, by the numbers by which incidents name them.
  public internal(set) var names: [TreeID: String] = [:]
  /// Damaged records that were set aside, and the words for what is lost; the new store keeps these
  /// reports.
  public internal(set) var incidents: [Incident] = []
  /// The parts of the files that could not be read.
  public internal(set) var lost: [StoreFinding] = []
  /// A description of what replaces lost records.
  public internal(set) var mended: [String] = []
  /// Records that nobody can read here, since their encryption key is missing.
  public internal(set) var locked: [LockedRecords] = []
  /// The directory where the old files lie, when they were set aside.
  public internal(set) var aside: String?

  /// Whether everything was saved except what had been erased on purpose.
  public var isWhole: Bool {
    lost.isEmpty && incidents.isEmpty && mended.isEmpty && locked.allSatisfy { $0.why == .erased }
  }

  /// A report of what a store holds.
  init(of backend: any StorageBackend) throws(StoreError) {
    (trees, names, incidents) = try backend.read { (view) throws(StoreError) in
      var trees: [Tree] = []
      var names: [TreeID: String] = [:]
      for info in try view.trees() {
        names[info.id] = info.name
        trees.append(try Self.tree(view, info))
      }
      return (trees, names, try view.incidents())
    }
  }

  private static func tree(
    _ view: any StorageView, _ info: TreeInfo
  ) throws(StoreError) -> Tree {
    var (complete, incomplete) = (0, 0)
    var last: QueryID?
    while true {
      let queries = try view.trackedQueries(info.id, after: last, limit: 1000)
      guard let end = queries.last?.id else { break }
      for stored in queries {
        if stored.query.isComplete { complete += 1 } else { incomplete += 1 }
      }
      last = end
    }
    var queues: [Queue] = []
    for lane in try view.lanes(info.id) {
      let totals = try view.totals(lane)
      queues.append(
        Queue(identity: lane.identity, waiting: totals.pending, rejected: totals.rejected))
    }
    return Tree(
      name: info.name, order: info.order, leaves: try view.usage(info.id).leaves,
      completeQueries: complete,
      incompleteQueries: incomplete, pins: try view.pins(info.id).count, queues: queues)
  }
}
