import ArgumentParser
import ConiferDocument
import ConiferStorage

/// Writes documents to a file or to standard output.
struct DocExportCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write documents in the form of Firestore's REST API, one a line.",
    discussion: """
      Writes what the server said, in the order of collections and ids, the same bytes from every backend. Documents \
      that are known to be missing are left out.
      """)

  @Argument(help: "The collection, with all that is below its documents; everything by default.")
  var collection: String?
  @Option(help: "The file; standard output by default.", completion: .file())
  var output: String?
  @Flag(help: "Write one JSON array.")
  var array = false
  @OptionGroup var documents: DocumentOptions

  func run(_ console: Console) async throws {
    let root = try collection.map { try CollectionPath($0) }
    try await documents.reading(console) { opened in
      let draft = try ExportDraft(output, console)
      defer { draft.discard() }
      let unknown = try opened.backend.inspectDocuments { view in
        try draft.restart()
        var exporter = DocumentExporter(
          view, opened, array ? .array : .lines, sink: { try draft.write($0) })
        try exporter.export(root)
        return exporter.unknown
      }
      try draft.finish()
      if unknown > 0 {
        console.note(
          "conifer: \(Figures.count(unknown)) documents exist whose fields are not known here; they were "
            + "left out")
      }
    }
  }
}
