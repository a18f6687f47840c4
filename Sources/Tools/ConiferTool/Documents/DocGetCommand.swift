import ArgumentParser
import ConiferDocument
import ConiferStorage
import ConiferTree
import ConiferWire

/// Prints a document.
struct DocGetCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Print a document's fields as JSON.",
    discussion: """
      The writes that wait in the queue of --identity are laid over what the server said. Plain JSON shows times, \
      bytes and references as text; --typed prints the document in the form of Firestore's REST API.
      """)

  @Argument(help: "The document, such as rooms/eros.")
  var path: String
  @Flag(help: "Print the form of the REST API.")
  var typed = false
  @Option(help: "The identity whose waiting writes are seen; by default those of nobody.")
  var identity = ""
  @OptionGroup var documents: DocumentOptions

  func run(_ console: Console) async throws {
    let path = try DocumentPath(path)
    try await documents.reading(console) { opened in
      let document = try opened.backend.inspectDocuments {
        try $0.document(opened.lane(identity), path)
      }
      guard let fields = document.fields else { throw Self.absence(document) }
      var writer = JSONWriter(pretty: !documents.store.json)
      if typed {
        writer.document(document, in: opened.database)
      } else {
        writer.marksDoubles = true
        Report(.map(fields)).write(to: &writer)
      }
      try console.write(writer.bytes + [UInt8(ascii: "\n")])
    }
  }

  /// Why a document has no fields to show.
  private static func absence(_ document: Document) -> Failure {
    let words =
      switch document.state {
      case .unseen: "Nothing is stored of \(document.path)"
      case .missing: "\(document.path) does not exist"
      case .unknown, .found: "\(document.path) exists, but its fields are not known here"
      }
    return .missing("no-document", "\(words): conifer doc query shows what a collection has.")
  }
}
