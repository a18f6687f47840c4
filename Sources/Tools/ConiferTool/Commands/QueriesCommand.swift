import ArgumentParser
import ConiferStorage
import ConiferTree

/// Lists the tracked queries: what is known to be complete.
struct QueriesCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "queries",
    abstract: "List the tracked queries: which data is complete, and which is not.")

  @Flag(help: "List the incomplete ones only.")
  var incomplete = false
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    try await store.reading(console, .any) { opened in
      var stored: [StoredQuery] = []
      try opened.backend.inspect { view in
        try view.forEachQuery(opened.tree) { query in
          if !incomplete || !query.query.isComplete { stored.append(query) }
        }
      }
      stored.sort { ($0.query.path, $0.query.parameters) < ($1.query.path, $1.query.parameters) }
      guard !store.json else {
        let rows = stored.map { query in
          Report.object([
            ("path", .string(query.query.path.description)),
            ("parameters", .string(query.query.parameters)),
            ("complete", .bool(query.query.isComplete)),
            ("lastUse", .integer(Int(clamping: query.query.lastUse))),
          ])
        }
        return try console.print(Report.list(rows).compact)
      }
      var table = Table(["path", "parameters", "complete"])
      for query in stored {
        table.add(
          query.query.path.description, query.query.parameters,
          query.query.isComplete ? "yes" : "no")
      }
      for line in stored.isEmpty ? ["there is no such query"] : table.lines {
        try console.print(line)
      }
    }
  }
}
