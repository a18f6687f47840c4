import ConiferKeyValue
import ConiferLog
import ConiferStorage
import ConiferTree

/// Saves what can be read of a damaged store into a new one; the source is only read.
///
/// Its rows go into a log beside the new store, where records are checked and set aside as in any
/// cache; what is sound then is copied, queues first.
struct Salvage {
  let source: StoreAddress
  let target: StoreAddress

  /// Where a new store is made, before it gets its name.
  static func workshop(_ target: StoreAddress) -> String { target.directory + ".salvage" }

  private var workshop: String { Self.workshop(target) }

  /// Salvages and tells what was saved and lost.
  func run() async throws -> Report {
    try Platform.makeDirectories(workshop)
    defer { Platform.removeTree(workshop) }
    var lost: [StoreFinding] = []
    let rows = try LogStore(at: workshop + "/rows")
    let mended: [String]
    do {
      try RowSource.read(source, scratch: workshop + "/copy", into: rows) { lost.append($0) }
      // The registry of an encrypted store can be read through its encryption alone.
      mended = source.encryption == nil ? try SalvagedRegistry.mend(rows) : []
    } catch {
      try? rows.close()
      throw error
    }
    let options = StorageOptions(budget: nil, role: .cache, encryption: source.encryption)
    let salvaged = try PackedBackend.open(
      SalvagedStore(rows, lost: lost), name: "salvage", options: options)
    do {
      let made = workshop + "/store"
      let new = try target.configuration(at: made)
      let report = try await StoreOptions.opened(new) { backend in
        try await StoreCopier(source: salvaged, target: backend, reached: { _ in })
          .run(from: CopyPlace())
        return try Self.report(backend, lost, mended)
      }
      try await salvaged.close()
      try Platform.makeDirectories(Self.parent(target.directory))
      try Platform.move(made, to: target.directory)
      return report
    } catch {
      try? await salvaged.close()
      throw error
    }
  }

  private static func parent(_ path: String) -> String {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    let parent = parts.joined(separator: "/")
    return parent.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : parent
  }

  private static func report(
    _ backend: any StorageBackend, _ lost: [StoreFinding], _ mended: [String]
  ) throws -> Report {
    try backend.inspect { view in
      let trees = try view.trees().map { info in
        var complete = 0
        var incomplete = 0
        try view.forEachQuery(info.id) {
          if $0.query.isComplete { complete += 1 } else { incomplete += 1 }
        }
        let lanes = try view.lanes(info.id).map { lane in
          let totals = try view.totals(lane)
          return Report.object([
            ("identity", .string(lane.identity)), ("waiting", .integer(totals.pending)),
            ("rejected", .integer(totals.rejected)),
          ])
        }
        return Report.object([
          ("name", .string(info.name)), ("leaves", .integer(try view.usage(info.id).leaves)),
          ("complete", .integer(complete)), ("incomplete", .integer(incomplete)),
          ("pins", .integer(try view.pins(info.id).count)), ("lanes", .list(lanes)),
        ])
      }
      let names = Dictionary(
        uniqueKeysWithValues: try view.trees().map { ($0.id, $0.name) })
      let incidents = try view.incidents().map { incident in
        Report.object([
          ("kind", .string(incident.kind.rawValue)), ("tree", .optional(names[incident.tree])),
          ("place", .string(incident.place)), ("bytes", .integer(incident.bytes.count)),
        ])
      }
      let files = lost.map { finding in
        Report.object([
          ("file", .string(finding.file)), ("offset", .integer(finding.offset)),
          ("bytes", .integer(finding.bytes)), ("words", .string(finding.words)),
        ])
      }
      return .object([
        ("whole", .bool(lost.isEmpty && incidents.isEmpty && mended.isEmpty)),
        ("trees", .list(trees)), ("setAside", .list(incidents)), ("lost", .list(files)),
        ("mended", .list(mended.map { .string($0) })),
      ])
    }
  }
}
