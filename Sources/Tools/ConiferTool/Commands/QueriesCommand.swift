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
      let matches = try matches(of: stored, opened)
      stored.sort { ($0.query.path, $0.query.parameters) < ($1.query.path, $1.query.parameters) }
      guard !store.json else {
        let rows = stored.map { query in
          Report.object(
            [
              ("path", .string(opened.places.words(query.query.path))),
              ("parameters", .string(opened.places.words(parameters: query.query.parameters))),
              ("complete", .bool(query.query.isComplete)),
              ("lastUse", .integer(Int(clamping: query.query.lastUse))),
            ] + (matches.map { [("matches", .integer($0[query.id] ?? 0))] } ?? []))
        }
        return try console.print(Report.list(rows).compact)
      }
      var table = Table(["path", "parameters", "complete"] + (matches == nil ? [] : ["matches"]))
      for query in stored {
        table.add(
          [
            opened.places.words(query.query.path),
            opened.places.words(parameters: query.query.parameters),
            query.query.isComplete ? "yes" : "no",
          ] + (matches.map { [Figures.count($0[query.id] ?? 0)] } ?? []))
      }
      for line in stored.isEmpty ? ["there is no such query"] : table.lines {
        try console.print(line)
      }
    }
  }

  /// How many documents each query matches; nil in a tree of nodes.
  private func matches(of queries: [StoredQuery], _ opened: TreeStore) throws -> [QueryID: Int]? {
    guard opened.order == .documents else { return nil }
    return try opened.backend.inspectDocuments { view in
      Dictionary(
        uniqueKeysWithValues: try queries.map {
          ($0.id, try view.matches(opened.tree, $0.id).count)
        })
    }
  }
}
