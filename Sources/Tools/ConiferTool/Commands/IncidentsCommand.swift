import ArgumentParser
import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// Lists the reports of damage of a store, or gives the bytes that one of them kept.
struct IncidentsCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "incidents",
    abstract: "List the reports of damage, or write the bytes that one of them kept.",
    discussion: """
      Each report says what was dropped, set aside or found missing since the store was made. The bytes are those of \
      the damaged record, as they were found: of a queued write they are all that is left.

      Examples:
        conifer incidents --store sqlite:///var/data
        conifer incidents 3 --store sqlite:///var/data > write.bin
      """)

  @Argument(help: "The number of a report in the list: its bytes are written to the output.")
  var number: Int?
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    try await store.inspecting(console) { backend in
      let (incidents, trees) = try backend.inspect { (try $0.incidents(), try $0.trees()) }
      let names = Dictionary(trees.map { ($0.id, $0.name) }) { first, _ in first }
      guard let number else { return try list(incidents, names, console) }
      guard incidents.indices.contains(number - 1) else {
        throw Failure.missing(
          "no-incident",
          "There is no report \(number); conifer incidents lists those that there are.")
      }
      let incident = incidents[number - 1]
      guard store.json else { return try console.write(incident.bytes) }
      let bytes = Report.string(Base64.encode(incident.bytes))
      try console.print(
        Report.object(Self.members(number, incident, names) + [("content", bytes)]).compact)
    }
  }

  private func list(
    _ incidents: [Incident], _ names: [TreeID: String], _ console: Console
  ) throws {
    guard !store.json else {
      let rows = incidents.enumerated().map { place, incident in
        Report.object(Self.members(place + 1, incident, names))
      }
      return try console.print(Report.list(rows).compact)
    }
    var table = Table(["number", "what", "tree", "bytes", "where"])
    for (place, incident) in incidents.enumerated() {
      table.add(
        String(place + 1), incident.kind.rawValue, names[incident.tree] ?? "",
        Figures.count(incident.bytes.count), incident.place)
    }
    for line in incidents.isEmpty ? ["no damage was reported"] : table.lines {
      try console.print(line)
    }
  }

  private static func members(
    _ number: Int, _ incident: Incident, _ names: [TreeID: String]
  ) -> [(String, Report)] {
    [
      ("number", .integer(number)), ("kind", .string(incident.kind.rawValue)),
      ("tree", .optional(names[incident.tree])), ("place", .string(incident.place)),
      ("bytes", .integer(incident.bytes.count)),
    ]
  }
}
