import ArgumentParser
import ConiferStorage
import ConiferTree

/// Prints the children that a query selects, in its order.
struct QueryCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "query",
    abstract: "Print the children of a path that a query selects, in its order.",
    discussion: """
      Values are JSON: --equal-to '"blue"', --start-at -5. For people each child is a line of key \
      and value; with --json the result is an array of {"key", "value"}.
      """)

  @Argument(help: "The path.")
  var path: String
  @OptionGroup var query: QueryOptions
  @Flag(help: "Tell on standard error how the query was answered, and which index would help.")
  var explain = false
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    let path = try Input.path(path)
    let spec = try query.spec()
    try await store.reading(console) { opened in
      let answer = try opened.backend.inspect { try $0.query(opened.tree, path, spec) }
      let children = answer.children
      if explain { console.note("\(answer.explanation)") }
      guard !store.json else {
        let rows = children.map {
          Report.object([("key", .string($0.key.string)), ("value", .node($0.node))])
        }
        return try console.print(Report.list(rows).compact)
      }
      var table = Table()
      for child in children {
        table.add(child.key.string, String(decoding: child.node.json(.export), as: UTF8.self))
      }
      for line in table.lines { try console.print(line) }
      if children.isEmpty { console.note("no child matches") }
    }
  }
}
