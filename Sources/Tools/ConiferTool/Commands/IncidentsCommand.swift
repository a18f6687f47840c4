import ArgumentParser
import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// Lists the reports of damage of a store, gives the bytes that one of them kept, or acknowledges them.
struct IncidentsCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "incidents",
    abstract: "List the reports of damage, write the bytes of one, or acknowledge them.",
    discussion: """
      Each report says what was dropped, set aside or found missing since the store was made. The bytes are those of \
      the damaged record, as they were found: of a queued write they are all that is left. A report of such a write \
      needs care until it is acknowledged; it stays in the list.

      Examples:
        conifer incidents --store sqlite:///var/data
        conifer incidents 5f0c2a1b9d3e4f60 --store sqlite:///var/data > write.bin
        conifer incidents --acknowledge --store sqlite:///var/data
      """)

  @Argument(
    help: "The id of a report in the list, or its beginning: its bytes are written to the output.")
  var id: String?
  @Flag(
    help: "Say that the writes that were set aside, or the one that is named, need no more care.")
  var acknowledge = false
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    // Who only looks must not drop anything.
    try await store.inspecting(console, role: .authority) { backend in
      let wanted = try id.map { id in try backend.inspect { try Self.incidents(of: id, $0) } }
      if acknowledge { return try await acknowledge(wanted, backend, console) }
      guard let incident = wanted?.first else {
        return try backend.inspect { try list($0, console) }
      }
      guard !incident.bytes.isEmpty else {
        throw Failure.missing(
          "no-bytes",
          "Report \(incident.fingerprint.hex) has kept no bytes: it only tells what happened.")
      }
      guard store.json else { return try console.write(incident.bytes) }
      let bytes = Report.string(Base64.encode(incident.bytes))
      let row = try backend.inspect { try Rows($0).row(incident) }
      try console.print(Report.object(row.members + [("content", bytes)]).compact)
    }
  }

  /// The reports of an id, or of the only one that begins so; several when they say the same.
  private static func incidents(of id: String, _ view: any StorageView) throws -> [Incident] {
    let id = id.lowercased()
    var found: [UInt64: [Incident]] = [:]
    try view.forEachIncident { incident in
      // Of more ids than one, no report is given.
      guard !id.isEmpty, found.count < 2, incident.fingerprint.hex.hasPrefix(id) else { return }
      found[incident.fingerprint, default: []].append(incident)
    }
    guard let first = found.first?.value else {
      throw Failure.missing(
        "no-incident", "There is no report \(id); conifer incidents lists those that there are.")
    }
    guard found.count == 1 else {
      throw Failure.usage("The ids of several reports begin with \(id): give more of it.")
    }
    return first
  }

  /// What makes rows of reports.
  private struct Rows {
    private let acknowledgements: IncidentAcknowledgements
    private let names: [TreeID: String]

    init(_ view: any StorageView) throws {
      acknowledgements = try IncidentAcknowledgements(view)
      names = Dictionary(try view.trees().map { ($0.id, $0.name) }) { first, _ in first }
    }

    func row(_ incident: Incident) -> Row {
      Row(
        id: incident.fingerprint.hex, kind: incident.kind.rawValue, tree: names[incident.tree],
        place: incident.place, bytes: incident.bytes.count,
        isAcknowledged: acknowledgements.contains(incident))
    }
  }

  /// What is told of a report: all but its bytes, which may be too many for the memory.
  private struct Row {
    let id: String
    let kind: String
    let tree: String?
    let place: String
    let bytes: Int
    let isAcknowledged: Bool

    var members: [(String, Report)] {
      [
        ("id", .string(id)), ("kind", .string(kind)), ("tree", .optional(tree)),
        ("place", .string(place)), ("bytes", .integer(bytes)),
        ("acknowledged", .bool(isAcknowledged)),
      ]
    }
  }

  private func list(_ view: any StorageView, _ console: Console) throws {
    let made = try Rows(view)
    var rows: [Row] = []
    try view.forEachIncident { rows.append(made.row($0)) }
    if store.json {
      return try console.print(Report.list(rows.map { Report.object($0.members) }).compact)
    }
    guard !rows.isEmpty else { return try console.print("no damage was reported") }
    var table = Table(["id", "what", "tree", "bytes", "acknowledged", "where"])
    for row in rows {
      table.add(
        row.id, row.kind, row.tree ?? "", Figures.count(row.bytes),
        row.isAcknowledged ? "yes" : "", row.place)
    }
    for line in table.lines { try console.print(line) }
  }

  private func acknowledge(
    _ wanted: [Incident]?, _ backend: any StorageBackend, _ console: Console
  ) async throws {
    let meant = wanted.map { Set($0) }
    let (edits, count) = try backend.inspect { view in
      try IncidentAcknowledgements(view).adding(in: view) { meant?.contains($0) ?? true }
    }
    if !edits.isEmpty { _ = try await backend.commit(edits, backend.traits.store.strongest) }
    try console.print(
      store.json
        ? Report.object([("acknowledged", .integer(count))]).compact
        : "acknowledged: \(Figures.some(count, "report")) of writes that were set aside")
  }
}
