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
      let log = try backend.inspect { try Log($0) }
      let wanted = try id.map { try log.incidents(of: $0) }
      if acknowledge {
        return try await acknowledge(wanted ?? log.incidents, log, backend, console)
      }
      guard let incident = wanted?.first else { return try list(log, console) }
      guard !incident.bytes.isEmpty else {
        throw Failure.missing(
          "no-bytes",
          "Report \(incident.fingerprint.hex) has kept no bytes: it only tells what happened.")
      }
      guard store.json else { return try console.write(incident.bytes) }
      let bytes = Report.string(Base64.encode(incident.bytes))
      try console.print(Report.object(log.members(incident) + [("content", bytes)]).compact)
    }
  }

  /// The reports of a store, with what is known of them.
  private struct Log {
    let incidents: [Incident]
    let acknowledgements: IncidentAcknowledgements
    private let names: [TreeID: String]

    init(_ view: any StorageView) throws {
      incidents = try view.incidents()
      acknowledgements = try IncidentAcknowledgements(view)
      names = Dictionary(try view.trees().map { ($0.id, $0.name) }) { first, _ in first }
    }

    /// The reports of an id, or of the only one that begins so; several when they say the same.
    func incidents(of id: String) throws -> [Incident] {
      let found = incidents.filter { $0.fingerprint.hex.hasPrefix(id.lowercased()) }
      guard !found.isEmpty, !id.isEmpty else {
        throw Failure.missing(
          "no-incident", "There is no report \(id); conifer incidents lists those that there are.")
      }
      guard Set(found.map(\.fingerprint)).count == 1 else {
        throw Failure.usage("The ids of several reports begin with \(id): give more of it.")
      }
      return found
    }

    func members(_ incident: Incident) -> [(String, Report)] {
      [
        ("id", .string(incident.fingerprint.hex)), ("kind", .string(incident.kind.rawValue)),
        ("tree", .optional(names[incident.tree])), ("place", .string(incident.place)),
        ("bytes", .integer(incident.bytes.count)),
        ("acknowledged", .bool(acknowledgements.contains(incident))),
      ]
    }

    /// The lines for people.
    var lines: [String] {
      guard !incidents.isEmpty else { return ["no damage was reported"] }
      var table = Table(["id", "what", "tree", "bytes", "acknowledged", "where"])
      for incident in incidents {
        table.add(
          incident.fingerprint.hex, incident.kind.rawValue, names[incident.tree] ?? "",
          Figures.count(incident.bytes.count), acknowledgements.contains(incident) ? "yes" : "",
          incident.place)
      }
      return table.lines
    }
  }

  private func list(_ log: Log, _ console: Console) throws {
    let rows = log.incidents.map { Report.object(log.members($0)) }
    for line in store.json ? [Report.list(rows).compact] : log.lines { try console.print(line) }
  }

  private func acknowledge(
    _ incidents: [Incident], _ log: Log, _ backend: any StorageBackend, _ console: Console
  ) async throws {
    let open = incidents.filter {
      IncidentAcknowledgements.needs($0) && !log.acknowledgements.contains($0)
    }
    let edits = log.acknowledgements.adding(open, of: log.incidents)
    if !edits.isEmpty { _ = try await backend.commit(edits, backend.traits.store.strongest) }
    try console.print(
      store.json
        ? Report.object([("acknowledged", .integer(open.count))]).compact
        : "acknowledged: \(Figures.some(open.count, "report")) of writes that were set aside")
  }
}
