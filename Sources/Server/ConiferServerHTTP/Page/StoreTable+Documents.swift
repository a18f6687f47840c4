import ConiferDocument
import ConiferKeyValue
import ConiferStorage

/// The tables of a tree of documents.
extension StoreTable {
  /// Whether the table tells of documents alone.
  var isOfDocuments: Bool { self == .collections || self == .overlays }

  /// The collections of a tree, with the documents in each, those that are known to be missing too.
  static func collections(
    of backend: any StorageBackend, _ tree: TreeInfo, limit: Int, now: Int64
  ) throws -> PageTable {
    var table = PageTable(
      now: now, columns: ["collection", "documents", "bytes"], empty: "There is no document.")
    guard tree.order == .documents else { return table }
    let paths = try backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
      try view.collections(tree.id, after: nil, limit: limit + 1)
    }
    table.hasMore = paths.count > limit
    table.rows = try paths.prefix(limit).map { path in
      let place = DocumentKey.treePath(path)
      let sizes = try (backend as? any EvictingBackend)?.explain(tree.id, place)
      return [
        .place(DocumentPlace.path(place), ""), sizes.map { .number($0.leaves) } ?? .none,
        sizes.map { .bytes($0.bytes) } ?? .none,
      ]
    }
    return table
  }

  /// The first rows of a tree of documents.
  func rows(
    ofDocuments view: any DocumentView, _ tree: TreeInfo, limit: Int, now: Int64
  ) throws(StoreError) -> PageTable {
    switch self {
    case .queries: try Self.targets(view, tree, limit, now)
    case .overlays: try Self.overlays(view, tree, limit, now)
    case .pins, .queue, .dead, .bytes, .collections:
      try rows(view, tree, limit: limit, now: now)
    }
  }

  /// The queries that the server is or was asked for.
  private static func targets(
    _ view: any DocumentView, _ tree: TreeInfo, _ limit: Int, _ now: Int64
  ) throws(StoreError) -> PageTable {
    var table = PageTable(
      now: now,
      columns: [
        "query", "complete", "as of", "resume token", "matches", "pinned", "last use", "number",
      ], empty: "No query is tracked.")
    let queries = try view.trackedQueries(tree.id, after: nil, limit: limit + 1)
    let pins = Set(try view.pins(tree.id))
    table.hasMore = queries.count > limit
    for stored in queries.prefix(limit) {
      let query = stored.query
      let record = TargetRecord(query)
      let isPinned =
        pins.contains(Pin(tree: tree.id, path: query.path))
        || pins.contains(Pin(tree: tree.id, path: query.path, parameters: query.parameters))
      table.rows.append([
        place(query.path, query.parameters, tree), .text(query.isComplete ? "yes" : "no"),
        record.version == .zero ? .none : .time(record.version.microseconds / 1000),
        .bytes(record.token.count), .number(try view.matches(tree.id, stored.id).count),
        .text(isPinned ? "yes" : "no"), .number(Int(clamping: query.lastUse)),
        .number(Int(clamping: stored.id.rawValue)),
      ])
    }
    return table
  }

  /// The table of a tree without documents.
  static func noOverlays(_ now: Int64) -> PageTable {
    PageTable(
      now: now, columns: ["user", "document", "what shows"],
      empty: "No waiting write changes a document.")
  }

  /// What waiting writes do to documents.
  private static func overlays(
    _ view: any DocumentView, _ tree: TreeInfo, _ limit: Int, _ now: Int64
  ) throws(StoreError) -> PageTable {
    var table = noOverlays(now)
    for lane in try view.lanes(tree.id) {
      let left = limit - table.rows.count
      let overlays = try view.overlays(lane, in: nil)
      if overlays.count > left { table.hasMore = true }
      table.rows += overlays.prefix(left).map { overlay in
        [
          .text(name(lane)),
          .place(DocumentPlace.path(DocumentKey.treePath(overlay.path)), ""),
          .text(overlay.words),
        ]
      }
    }
    return table
  }
}
