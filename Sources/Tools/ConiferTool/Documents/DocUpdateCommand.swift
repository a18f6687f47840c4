import ArgumentParser
import ConiferDocument

/// Replaces fields of a document that exists.
struct DocUpdateCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "update", abstract: "Replace fields of a document that exists, and leave others.",
    discussion: """
      Keys are field paths, {"address.city": "Rome", "size": 3}; a name with other characters stands in back quotes. \
      A map replaces what is there whole, and null is a value: --delete FIELD deletes a field.
      """)

  @Argument(help: "The document, such as rooms/eros.")
  var path: String
  @Argument(help: "A JSON object of field paths and values; - reads standard input.")
  var value: String = "{}"
  @Option(help: "A field to delete. May repeat.")
  var delete: [String] = []
  @Flag(help: "The values are in the form of the REST API.")
  var typed = false
  @OptionGroup var write: DocumentEditOptions

  func run(_ console: Console) async throws {
    let path = try DocumentPath(path)
    var changes = try DocumentInput.changes(try Input.json(value), typed: typed)
    for field in delete { changes.append((try DocumentInput.field(field), .delete)) }
    guard !changes.isEmpty else {
      throw Failure.usage("An update names one field at least, as a key or with --delete.")
    }
    let words = "update \(path): \(Figures.count(changes.count)) fields"
    try await write.perform(path, words, making: false, console) { database in
      try Mutation.update(path, changes, in: database)
    }
  }
}
