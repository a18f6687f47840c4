import ArgumentParser
import ConiferStorage
import ConiferTree

/// Writes the node at a path to a file or to standard output.
struct ExportCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write the node at a path as JSON, the same bytes from every backend.")

  @Argument(help: "The file; standard output by default.")
  var file: String?
  @Option(help: "What to write.")
  var path = "/"
  @Flag(help: "Hide priorities and write arrays, as apps see values.")
  var plain = false
  @Flag(help: "Write each member on its own line.")
  var pretty = false
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    let path = try Input.path(path)
    try await store.reading(console) { opened in
      let draft = try ExportDraft(file, console)
      defer { draft.discard() }
      try opened.backend.inspect { view in
        try draft.restart()
        var exporter = Exporter(
          view: view, tree: opened.tree, form: plain ? .plain : .export,
          writer: JSONWriter(pretty: pretty, sink: { try draft.write($0) }))
        try exporter.export(path)
      }
      try draft.write([UInt8(ascii: "\n")])
      try draft.finish()
    }
  }
}
