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
      let draft = try file.map { try ExportFile($0) }
      defer { draft?.discard() }
      let output = draft?.descriptor
      var isBegun = false
      let sink: ([UInt8]) throws -> Void = { bytes in
        isBegun = true
        guard let output else { return try console.write(bytes) }
        try Platform.write(bytes, to: output)
      }
      try opened.backend.inspect { view in
        // A cache that met damaged data has dropped it, and reads once more from the beginning.
        if isBegun, output.map(Platform.empty) != true {
          throw Failure(
            "damaged", .damaged,
            "Damaged data was found and dropped when a part was written already: the output is "
              + "cut. Export again to write what is left; conifer stats shows what was lost.")
        }
        var exporter = Exporter(
          view: view, tree: opened.tree, form: plain ? .plain : .export,
          writer: JSONWriter(pretty: pretty, sink: sink))
        try exporter.export(path)
      }
      try sink([UInt8(ascii: "\n")])
      try draft?.finish()
    }
  }
}
