import ConiferDocument
import ConiferKeyValue
import ConiferStorage

/// What a tree of documents holds, for `stats`.
struct DocumentFigures {
  /// How many collections are told to people; JSON has all that were measured.
  private static let shown = 20
  /// How many collections are measured: each takes some reads.
  private static let measured = 1000

  /// A collection, what is known of it.
  struct Collection {
    let path: String
    let documents: Int
    let bytes: Int
  }

  /// A lane with writes.
  struct Queue {
    let identity: String
    let waiting: Int
    let rejected: Int
    /// How many documents the waiting writes change.
    let changed: Int
  }

  let name: String
  private let documents: Int
  private let collectionCount: Int
  private let collections: [Collection]
  private let indexes: [DocumentIndexStatus]
  private let queries: Int
  private let matches: Int
  private let queues: [Queue]

  /// Reads what a tree holds.
  ///
  /// - Parameter backend: measures collections, when it can.
  init(_ backend: any StorageBackend, _ info: TreeInfo) throws {
    name = info.name
    let tree = info.id
    var paths: [CollectionPath] = []
    var count = 0
    var matches = 0
    var queries = 0
    (documents, indexes, queues) = try backend.inspectDocuments { view in
      (paths, count, matches, queries) = ([], 0, 0, 0)
      var last: CollectionPath?
      while true {
        let window = try view.collections(tree, after: last, limit: 256)
        guard let end = window.last else { break }
        count += window.count
        paths += window.prefix(max(0, Self.measured - paths.count))
        last = end
      }
      try view.forEachQuery(tree) { stored in
        queries += 1
        matches += try view.matches(tree, stored.id).count
      }
      let queues = try view.lanes(tree).map { lane in
        let totals = try view.totals(lane)
        return Queue(
          identity: lane.identity, waiting: totals.pending, rejected: totals.rejected,
          changed: try view.overlays(lane, in: nil).count)
      }
      return (try view.usage(tree).leaves, try view.documentIndexes(tree), queues)
    }
    collectionCount = count
    self.matches = matches
    self.queries = queries
    let evicting = backend as? any EvictingBackend
    collections = try paths.compactMap { path in
      guard let sizes = try evicting?.explain(tree, DocumentKey.treePath(path)) else { return nil }
      return Collection(path: path.description, documents: sizes.leaves, bytes: sizes.bytes)
    }.sorted { ($1.bytes, $0.path) < ($0.bytes, $1.path) }
  }

  var lines: [String] {
    var lines = [
      "documents in \(name): \(Figures.count(documents)) in \(Figures.count(collectionCount)) collections"
    ]
    var table = Table()
    for collection in collections.prefix(Self.shown) {
      table.add(
        "  \(collection.path)", "\(Figures.count(collection.documents)) documents",
        Figures.bytes(collection.bytes))
    }
    lines += table.lines
    if collectionCount > Self.shown {
      lines.append("  and \(Figures.count(collectionCount - Self.shown)) more collections")
    }
    for status in indexes {
      let state = status.state == .ready ? "" : ", being built"
      lines.append(
        "  index \(status.index): \(Figures.count(status.entries)) rows, \(Figures.bytes(status.bytes))\(state)"
      )
    }
    if queries > 0 {
      lines.append(
        "  \(Figures.count(queries)) tracked queries match \(Figures.count(matches)) documents")
    }
    for queue in queues where queue.waiting + queue.rejected > 0 {
      lines.append(
        "  queue of \(queue.identity.isEmpty ? "nobody" : queue.identity): "
          + "\(Figures.count(queue.waiting)) waiting writes change \(Figures.count(queue.changed)) documents, "
          + "\(Figures.count(queue.rejected)) rejected")
    }
    return lines
  }

  var report: Report {
    .object([
      ("tree", .string(name)), ("documents", .integer(documents)),
      ("collectionCount", .integer(collectionCount)),
      (
        "collections",
        .list(
          collections.map {
            .object([
              ("path", .string($0.path)), ("documents", .integer($0.documents)),
              ("bytes", .integer($0.bytes)),
            ])
          })
      ),
      (
        "indexes",
        .list(
          indexes.map {
            .object([
              ("index", .string("\($0.index)")), ("ready", .bool($0.state == .ready)),
              ("rows", .integer($0.entries)), ("bytes", .integer($0.bytes)),
            ])
          })
      ),
      ("queries", .integer(queries)), ("matches", .integer(matches)),
      (
        "queues",
        .list(
          queues.map {
            .object([
              ("identity", .string($0.identity)), ("waiting", .integer($0.waiting)),
              ("rejected", .integer($0.rejected)), ("changedDocuments", .integer($0.changed)),
            ])
          })
      ),
    ])
  }
}
