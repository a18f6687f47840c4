import ConiferDocument
import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferTree

/// The tables of a client's store.
enum StoreTable: String, CaseIterable {
  case collections
  case queries
  case pins
  case queue
  case overlays
  case dead
  case bytes

  var title: String {
    switch self {
    case .collections: "Collections"
    case .queries: "Tracked queries"
    case .pins: "Pins"
    case .queue: "Queue"
    case .overlays: "Pending documents"
    case .dead: "Dead letters"
    case .bytes: "Bytes"
    }
  }

  /// The first rows of a tree of nodes; `bytes` and `collections`, which ask the whole backend, have none
  /// here.
  func rows(
    _ view: any StorageView, _ tree: TreeInfo, limit: Int, now: Int64
  ) throws(StoreError) -> PageTable {
    switch self {
    case .queries: try Self.queries(view, tree, limit, now)
    case .pins: try Self.pins(view, tree, limit, now)
    case .queue: try Self.queue(view, tree, limit, now)
    case .dead: try Self.deadLetters(view, tree, limit, now)
    case .overlays: Self.noOverlays(now)
    case .bytes, .collections: PageTable(now: now, columns: [], empty: "")
    }
  }

  private static func queries(
    _ view: any StorageView, _ tree: TreeInfo, _ limit: Int, _ now: Int64
  ) throws(StoreError) -> PageTable {
    var table = PageTable(
      now: now, columns: ["path", "complete", "missing", "last use", "number"],
      empty: "No query is tracked.")
    let queries = try view.trackedQueries(tree.id, after: nil, limit: limit + 1)
    table.hasMore = queries.count > limit
    table.rows = queries.prefix(limit).map { stored in
      let query = stored.query
      return [
        place(query.path, query.parameters, tree), .text(query.isComplete ? "yes" : "no"),
        .text(query.isKnownMissing ? "yes" : "no"), .number(Int(clamping: query.lastUse)),
        .number(Int(clamping: stored.id.rawValue)),
      ]
    }
    return table
  }

  private static func pins(
    _ view: any StorageView, _ tree: TreeInfo, _ limit: Int, _ now: Int64
  ) throws(StoreError) -> PageTable {
    var table = PageTable(now: now, columns: ["path"], empty: "Nothing is pinned.")
    let pins = try view.pins(tree.id)
    table.hasMore = pins.count > limit
    table.rows = pins.prefix(limit).map { [place($0.path, $0.parameters, tree)] }
    return table
  }

  private static func queue(
    _ view: any StorageView, _ tree: TreeInfo, _ limit: Int, _ now: Int64
  ) throws(StoreError) -> PageTable {
    let changes = tree.order == .documents ? "what" : "changes"
    var table = PageTable(
      now: now, columns: ["lane", "write", "state", "kind", "path", changes, "age", "sent"],
      empty: "No write waits.")
    for lane in try view.lanes(tree.id) {
      let left = limit - table.rows.count
      let writes = try view.entries(lane, after: nil, limit: left + 1)
      if writes.count > left { table.hasMore = true }
      table.rows += writes.prefix(left).map { write in
        let content = WriteContent(write.payload)
        return [
          .text(name(lane)), .number(Int(clamping: write.id.rawValue)), .text(write.state.words),
          kind(write, content), place(write.payload.path, nil, tree),
          MutationBatch(write.payload).map { .text($0.words()) }
            ?? .number(write.payload.touches.count),
          age(write, content), .number(Int(write.attempts)),
        ]
      }
    }
    return table
  }

  /// Writes that no server will get as they are: refused ones, and damaged ones that were set aside.
  private static func deadLetters(
    _ view: any StorageView, _ tree: TreeInfo, _ limit: Int, _ now: Int64
  ) throws(StoreError) -> PageTable {
    var table = PageTable(
      now: now, columns: ["what", "lane", "write", "kind", "path", "reason", "age"],
      empty: "No write was rejected or set aside.")
    for lane in try view.lanes(tree.id) {
      let left = limit - table.rows.count
      let writes = try view.rejectedEntries(lane, after: nil, limit: left + 1)
      if writes.count > left { table.hasMore = true }
      table.rows += writes.prefix(left).map { write in
        let content = WriteContent(write.payload)
        var reason = ""
        if case .rejected(let words) = write.state { reason = words }
        return [
          .text("rejected"), .text(name(lane)), .number(Int(clamping: write.id.rawValue)),
          kind(write, content), place(write.payload.path, nil, tree), .text(reason),
          age(write, content),
        ]
      }
    }
    let left = limit - table.rows.count
    let setAside = try setAside(view, tree, left + 1)
    if setAside.count > left { table.hasMore = true }
    table.rows += setAside.prefix(left).map { words in
      [.text("set aside"), .none, .none, .none, .none, .text(words), .none]
    }
    return table
  }

  /// What is told of the writes that were set aside in a tree, of some of them at least if there are as many.
  private static func setAside(
    _ view: any StorageView, _ tree: TreeInfo, _ some: Int
  ) throws(StoreError) -> [String] {
    var words: [String] = []
    var (end, hasMore) = (IncidentPosition(), true)
    // A window also ends where their bytes are many.
    while hasMore, words.count < some {
      let window = try view.incidents(after: end, limit: some - words.count) {
        $0.tree == tree.id && $0.kind == .writeSetAside
      }
      words += window.incidents.map { incident in
        "damaged at \(incident.place), \(incident.bytes.count) bytes kept"
      }
      (end, hasMore) = (window.end, window.hasMore)
    }
    return words
  }

  static func name(_ lane: Lane) -> String {
    lane.identity.isEmpty ? "nobody" : lane.identity
  }

  private static func kind(_ write: QueueEntry, _ content: WriteContent?) -> PageTable.Cell {
    .text(
      content.map { "\($0.kind)" } ?? MutationBatch(write.payload)?.kindName
        ?? "\(write.payload.kind)")
  }

  /// A place of the tree as the page has it, with a query's parameters in words.
  static func place(
    _ path: Path, _ parameters: String?, _ tree: TreeInfo
  ) -> PageTable.Cell {
    guard tree.order == .documents else { return .place(path, parameters.map(words) ?? "") }
    var target = parameters ?? ""
    // A query of documents is told by whose it is and its canonical text.
    if let end = target.utf8.firstIndex(of: 0) {
      let identity = target[..<end]
      target = String(target[target.utf8.index(after: end)...])
      if !identity.isEmpty { target += " of \(identity)" }
    }
    return .place(
      DocumentPlace.path(path), target == TrackedQuery.defaultParameters ? "" : target)
  }

  private static func age(_ write: QueueEntry, _ content: WriteContent?) -> PageTable.Cell {
    let time = content?.time ?? MutationBatch(write.payload).map { $0.written.microseconds / 1000 }
    guard let time, time > 0 else { return .none }
    return .time(time)
  }

  /// A query's canonical parameters in words, or the text itself if they are invalid.
  private static func words(_ parameters: String) -> String {
    if parameters == TrackedQuery.defaultParameters { return "" }
    do throws(TreeError) {
      return try QuerySpec(json: Array(parameters.utf8)).words
    } catch {
      return parameters
    }
  }
}

extension WriteState {
  fileprivate var words: String {
    switch self {
    case .queued: "queued"
    case .sent: "sent"
    case .outcomeUnknown: "outcome unknown"
    case .rejected: "rejected"
    }
  }
}
