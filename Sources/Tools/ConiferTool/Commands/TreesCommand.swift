import ArgumentParser
import ConiferStorage

/// Lists the trees of a store.
struct TreesCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "trees", abstract: "List the trees of the store.")

  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    try await store.inspecting(console) { backend in
      let rows = try backend.inspect { view in
        try view.trees().map { ($0, try view.usage($0.id)) }
      }
      guard !store.json else {
        let trees = rows.map { info, usage in
          Report.object([
            ("name", .string(info.name)), ("order", .string("\(info.order)")),
            ("leaves", .integer(usage.leaves)), ("bytes", .integer(usage.total)),
          ])
        }
        return try console.print(Report.list(trees).compact)
      }
      var table = Table(["tree", "order", "leaves", "bytes"])
      for (info, usage) in rows {
        table.add(
          info.name, "\(info.order)", Figures.count(usage.leaves), Figures.bytes(usage.total))
      }
      for line in rows.isEmpty ? ["there is no tree yet"] : table.lines { try console.print(line) }
    }
  }
}
