import ArgumentParser
import ConiferDocument
import ConiferStorage
import ConiferTree

/// Lists the writes that are not finished.
struct QueueListCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the waiting and the rejected writes.")

  @Option(help: "The identity whose queue to list; by default all, \"\" for the queue of nobody.")
  var identity: String?
  @Option(help: "The most writes to list, of each lane and kind.")
  var limit = 1000
  @OptionGroup var store: StoreOptions

  func validate() throws {
    guard limit > 0 else { throw ValidationError("--limit is a number from 1.") }
  }

  func run(_ console: Console) async throws {
    try await store.reading(console, .any) { opened in
      let lanes = try opened.backend.inspect { view in
        try view.lanes(opened.tree).filter { identity == nil || $0.identity == identity }
          .map { lane in
            (
              lane, try view.totals(lane),
              try view.entries(lane, after: nil, limit: limit)
                + view.rejectedEntries(lane, after: nil, limit: limit)
            )
          }
      }
      if store.json {
        let rows = lanes.map { lane, totals, writes in
          Report.object([
            ("identity", .string(lane.identity)), ("pending", .integer(totals.pending)),
            ("rejected", .integer(totals.rejected)), ("bytes", .integer(totals.bytes)),
            ("writes", .list(writes.map { .object($0.summary) })),
          ])
        }
        return try console.print(Report.list(rows).compact)
      }
      guard lanes.contains(where: { $0.1.pending + $0.1.rejected > 0 }) else {
        return try console.print("no write waits")
      }
      for (lane, totals, writes) in lanes where totals.pending + totals.rejected > 0 {
        try console.print(
          "\(lane.identity.isEmpty ? "nobody" : lane.identity.shown): "
            + "\(Figures.count(totals.pending)) waiting, \(Figures.count(totals.rejected)) rejected, "
            + Figures.bytes(totals.bytes))
        var table = Table(["id", "state", "kind", "path", "sent", "reason"])
        for write in writes {
          table.add(
            String(write.id.rawValue), write.stateName, write.kindName,
            write.place, String(write.attempts), write.reason ?? "")
        }
        for line in table.lines { try console.print(line) }
      }
    }
  }
}

extension QueueEntry {
  /// The kind of a write to a tree or to documents, or the number of another kind.
  var kindName: String {
    if let content = WriteContent(payload) { return "\(content.kind)" }
    return MutationBatch(payload)?.kindName ?? "\(payload.kind)"
  }

  /// What is written: a path, or a document and how many others.
  var place: String { MutationBatch(payload)?.place ?? payload.path.description }

  /// When it was made, in milliseconds since 1970, as far as the writer knew; nil for another kind.
  var time: Int64? {
    WriteContent(payload)?.time ?? MutationBatch(payload).map { $0.written.microseconds / 1000 }
  }

  /// Why a server has refused it.
  var reason: String? { if case .rejected(let reason) = state { reason } else { nil } }

  /// The state's stable name.
  var stateName: String {
    switch state {
    case .queued: "queued"
    case .sent: "sent"
    case .outcomeUnknown: "outcomeUnknown"
    case .rejected: "rejected"
    }
  }

  /// The write's line in lists.
  var summary: [(String, Report)] {
    var members: [(String, Report)] = [
      ("id", .integer(Int(clamping: id.rawValue))), ("state", .string(stateName)),
      ("kind", .string(kindName)), ("path", .string(place)),
      ("attempts", .integer(Int(attempts))),
    ]
    if let time { members.append(("time", .integer(Int(time)))) }
    if let reason { members.append(("reason", .string(reason))) }
    return members
  }
}
