import ConiferKeyValue
import ConiferStorage

/// What an open store tells of itself, as one process tells it to another.
enum StoreFacts {
  static func of(_ backend: any StorageBackend) throws -> [(String, Report)] {
    let traits = backend.traits
    let (usage, trees) = try backend.inspect { (try $0.usage(nil), try $0.trees()) }
    let incidents = try backend.inspect { view in try Self.incidents(view, trees) }
    let space = try (backend as? any EvictingBackend)?.space()
    return [
      ("format", .integer(traits.format)), ("encrypted", .bool(traits.isEncrypted)),
      ("durability", .string("\(traits.store.strongest)")),
      ("size", report(try backend.size())),
      ("cache", .optional(space?.cache)), ("pinned", .optional(space?.pinned)),
      ("queue", .integer(usage.queue)), ("records", .integer(usage.total)),
      ("leaves", .integer(usage.leaves)), ("dictionaries", .integer(usage.dictionaryCount)),
      ("trees", .list(try trees.map { try report($0, backend) })),
      ("incidents", .list(incidents)),
    ]
  }

  private static func incidents(
    _ view: any StorageView, _ trees: [TreeInfo]
  ) throws -> [Report] {
    let names = Dictionary(trees.map { ($0.id, $0.name) }) { first, _ in first }
    let acknowledged = try IncidentAcknowledgements(view)
    var reports: [Report] = []
    try view.forEachIncident { incident in
      reports.append(
        .object([
          ("kind", .string(incident.kind.rawValue)),
          ("tree", .optional(names[incident.tree])), ("place", .string(incident.place)),
          ("bytes", .integer(incident.bytes.count)),
          ("acknowledged", .bool(acknowledged.contains(incident))),
        ]))
    }
    return reports
  }

  static func report(_ size: StoreSize) -> Report {
    .object([
      ("live", .integer(size.live)), ("free", .integer(size.free)), ("file", .integer(size.file)),
    ])
  }

  private static func report(_ tree: TreeInfo, _ backend: any StorageBackend) throws -> Report {
    let (usage, lanes, incomplete) = try backend.inspect { view -> (StorageUsage, [Report], Int) in
      var incomplete = 0
      try view.forEachQuery(tree.id) { if !$0.query.isComplete { incomplete += 1 } }
      let lanes = try view.lanes(tree.id).map { try report($0, view) }
      return (try view.usage(tree.id), lanes, incomplete)
    }
    return .object([
      ("name", .string(tree.name)), ("order", .string("\(tree.order)")),
      ("leaves", .integer(usage.leaves)), ("bytes", .integer(usage.total)),
      ("incomplete", .integer(incomplete)), ("lanes", .list(lanes)),
      (
        "indexes",
        .list(
          try indexes(tree, backend).map { name, isReady in
            .object([("name", .string(name)), ("ready", .bool(isReady))])
          })
      ),
    ])
  }

  /// The declared indexes of a tree, and whether they are built.
  private static func indexes(
    _ tree: TreeInfo, _ backend: any StorageBackend
  ) throws -> [(name: String, isReady: Bool)] {
    guard tree.order == .documents else {
      return try backend.inspect { view in
        try view.indexes(tree.id).map { ("\($0.definition)", $0.state == .ready) }
      }
    }
    return try backend.inspectDocuments { view in
      try view.documentIndexes(tree.id).map { ($0.index.collectionID, $0.state == .ready) }
    }
  }

  /// What a queue holds.
  private static func report(_ lane: Lane, _ view: any StorageView) throws -> Report {
    let totals = try view.totals(lane)
    var oldest: Int64?
    var unknown = 0
    try view.forEachWrite(lane, rejected: false) { write in
      if write.state == .outcomeUnknown { unknown += 1 }
      if let time = write.time, time > 0 { oldest = min(oldest ?? time, time) }
    }
    return .object([
      ("identity", .string(lane.identity)), ("waiting", .integer(totals.pending)),
      ("rejected", .integer(totals.rejected)), ("unknown", .integer(unknown)),
      ("bytes", .integer(totals.bytes)), ("oldest", .optional(oldest.map { Int(clamping: $0) })),
    ])
  }
}
