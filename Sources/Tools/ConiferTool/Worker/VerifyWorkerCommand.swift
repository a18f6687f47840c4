import ArgumentParser
import ConiferKeyValue
import ConiferStorage

/// The process that reads a store for `verify`.
struct VerifyWorkerCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify-worker", abstract: "The process that verify runs.", shouldDisplay: false)

  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    try await Worker.answer(console) {
      // The parent command has already warned about the key file.
      let configuration = try store.configuration(console.quiet)
      return try await StoreOptions.opened(configuration) { backend in
        let opening = backend.incidentOfOpening()
        let report = try backend.verifying().verify { progress in
          Worker.tell(
            console, phase: progress.phase, bytes: progress.bytes, expected: progress.expected)
        }
        return Self.report(report, opening, try backend.inspect { try $0.incidentWords() })
      }
    }
  }

  private static func report(
    _ report: VerificationReport, _ opening: Incident?, _ incidents: [String]
  ) -> Report {
    let counts = report.counts
    return .object([
      ("sound", .bool(report.isSound)), ("partial", .bool(report.isPartial)),
      ("found", .integer(report.found)),
      ("locked", .list(report.locked.map(Report.init(locked:)))),
      (
        "findings",
        .list(
          report.findings.map { finding in
            .object([
              ("kind", .string(finding.kind.rawValue)),
              ("tree", .integer(Int(finding.tree?.rawValue ?? 0))),
              ("place", .string(finding.place)), ("words", .string(finding.words)),
              ("bytes", .integer(finding.bytes)),
            ])
          })
      ),
      ("opening", .optional(opening?.description)),
      ("incidents", .list(incidents.map { .string($0) })),
      (
        "counts",
        .object([
          ("trees", .integer(counts.trees)), ("records", .integer(counts.records)),
          ("bytes", .integer(counts.bytes)), ("leaves", .integer(counts.leaves)),
          ("documents", .integer(counts.documents)),
          ("runs", .integer(counts.runs)), ("deltas", .integer(counts.deltas)),
          ("largeLeaves", .integer(counts.largeLeaves)),
          ("dictionaries", .integer(counts.dictionaries)), ("queries", .integer(counts.queries)),
          ("trackedKeys", .integer(counts.trackedKeys)),
          ("indexEntries", .integer(counts.indexEntries)), ("pins", .integer(counts.pins)),
          ("writes", .integer(counts.writes)), ("overlays", .integer(counts.overlays)),
          ("finishedWrites", .integer(counts.finishedWrites)),
          ("unknown", .integer(counts.unknown)),
        ])
      ),
    ])
  }
}
