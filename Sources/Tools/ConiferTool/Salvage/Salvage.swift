import ConiferKeyValue
import ConiferStorage

/// Saves what can be read of a damaged store into a new one; the source is only read.
struct Salvage {
  let source: StoreAddress
  let target: StoreAddress

  /// Where a new store is made, before it gets its name.
  static func directory(_ target: StoreAddress) -> String { target.directory + ".salvage" }

  /// Salvages, and reports what was saved and lost.
  ///
  /// - Parameter advanced: called with how far it is.
  func run(_ advanced: @escaping (SalvageProgress) -> Void = { _ in }) async throws -> Report {
    var salvager = try Salvager(source.configuration())
    salvager.advanced = advanced
    let directory = try SalvageDirectory(Self.directory(target))
    defer { directory.remove() }
    let report = try await salvager.run(
      source.directory, in: directory, into: target.configuration(at: directory.store))
    guard
      try Directory.moveWithoutReplacing(
        directory.store, to: target.directory, replacesEmpty: true)
    else {
      throw Failure(
        "not-empty", .foreign,
        "\(target.directory) is there by now: salvage into a new directory.")
    }
    return Self.told(report)
  }

  private static func told(_ report: SalvageReport) -> Report {
    let trees = report.trees.map { tree in
      Report.object([
        ("name", .string(tree.name)), ("order", .string("\(tree.order)")),
        ("leaves", .integer(tree.leaves)),
        ("complete", .integer(tree.completeQueries)),
        ("incomplete", .integer(tree.incompleteQueries)), ("pins", .integer(tree.pins)),
        (
          "lanes",
          .list(
            tree.queues.map { queue in
              .object([
                ("identity", .string(queue.identity)), ("waiting", .integer(queue.waiting)),
                ("rejected", .integer(queue.rejected)),
              ])
            })
        ),
      ])
    }
    let incidents = report.incidents.map { incident in
      Report.object([
        ("kind", .string(incident.kind.rawValue)),
        ("tree", .optional(report.names[incident.tree])), ("place", .string(incident.place)),
        ("bytes", .integer(incident.bytes.count)),
      ])
    }
    let lost = report.lost.map { finding in
      Report.object([
        ("file", .string(finding.file)), ("offset", .integer(finding.offset)),
        ("bytes", .integer(finding.bytes)), ("words", .string(finding.words)),
      ])
    }
    return .object([
      ("whole", .bool(report.isWhole)), ("trees", .list(trees)), ("setAside", .list(incidents)),
      ("lost", .list(lost)), ("mended", .list(report.mended.map { .string($0) })),
      ("locked", .list(report.locked.map(Report.init(locked:)))),
    ])
  }
}

extension Report {
  /// Records whose encryption key is missing.
  init(locked: LockedRecords) {
    self = .object([
      ("tree", .optional(locked.name)), ("identity", .optional(locked.identity)),
      ("why", .string(locked.why.rawValue)), ("records", .integer(locked.records)),
      ("bytes", .integer(locked.bytes)), ("text", .string(locked.description)),
    ])
  }
}
