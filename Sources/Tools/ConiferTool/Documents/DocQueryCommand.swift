import ArgumentParser
import ConiferDocument
import ConiferStorage
import ConiferTree
import ConiferWire

/// Prints the documents that a query selects, in its order.
struct DocQueryCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "query", abstract: "Print the documents that a query selects, in its order.",
    discussion: """
      Values are JSON: --where 'city == "Rome"' --where 'size > 3'. Operators are ==, !=, <, <=, >, >=, in, not-in, \
      array-contains and array-contains-any. For people each document is a line of path and fields; with --json the \
      result is an array of {"path", "fields"}, with --typed a document of the REST API a line.
      """)

  @Argument(help: "The collection, such as rooms or rooms/eros/messages; with --group an id.")
  var collection: String
  @OptionGroup var query: DocumentQueryOptions
  @OptionGroup var aggregates: AggregateOptions
  @Flag(help: "Tell on standard error how the query was answered, and which index would help.")
  var explain = false
  @Option(help: "The identity whose waiting writes are seen; by default those of nobody.")
  var identity = ""
  @OptionGroup var documents: DocumentOptions

  func run(_ console: Console) async throws {
    let wanted = try aggregates.wanted()
    try await documents.reading(
      console, prepare: { try query.query(collection, in: $0) }
    ) { opened, query in
      let answer = try opened.backend.inspectDocuments {
        try $0.query(opened.lane(identity), query)
      }
      if explain {
        for line in answer.explanation.lines { console.note(line) }
      }
      guard wanted.isEmpty else {
        let values = try Aggregate.evaluate(wanted, over: answer.documents)
        return try tell(Array(zip(wanted.map(\.name), values)), console)
      }
      try tell(answer.documents, opened.database, console)
    }
  }

  private func tell(
    _ found: [Document], _ database: DatabaseID, _ console: Console
  ) throws {
    if query.typed {
      for document in found {
        var writer = JSONWriter()
        writer.document(document, in: database)
        try console.write(writer.bytes + [UInt8(ascii: "\n")])
      }
    } else if documents.store.json {
      let rows = found.map { document in
        Report.object([
          ("path", .string(document.path.description)),
          ("fields", Report(.map(document.fields ?? .empty))),
        ])
      }
      return try console.print(Report.list(rows).marked)
    } else {
      var table = Table()
      for document in found {
        table.add(document.path.description, Report(.map(document.fields ?? .empty)).marked)
      }
      for line in table.lines { try console.print(line) }
    }
    if found.isEmpty { console.note("no document matches") }
  }

  private func tell(_ values: [(String, DocumentValue)], _ console: Console) throws {
    guard !documents.store.json else {
      return try console.print(Report.object(values.map { ($0, Report($1)) }).marked)
    }
    var table = Table()
    for (name, value) in values { table.add(name, Report(value).marked) }
    for line in table.lines { try console.print(line) }
  }
}

extension Aggregate {
  /// What the output calls it.
  fileprivate var name: String {
    switch self {
    case .count: "count"
    case .sum(let field): "sum \(field)"
    case .average(let field): "average \(field)"
    }
  }
}
