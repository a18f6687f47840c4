import ArgumentParser
import ConiferDocument

/// Replaces a document, or the fields of it that are given.
struct DocSetCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Replace a document, or with --merge the fields that are given.",
    discussion: """
      Fields are JSON, {"name": "Eros", "size": 3}; with --typed a document in the form of Firestore's REST API, \
      {"fields": {"size": {"integerValue": "3"}}}.
      """)

  @Argument(help: "The document, such as rooms/eros.")
  var path: String
  @Argument(help: "Its fields in JSON; - reads standard input.")
  var value: String
  @Flag(help: "Replace the fields that are given, in maps too, and leave the others.")
  var merge = false
  @Flag(help: "The JSON is in the form of the REST API.")
  var typed = false
  @OptionGroup var write: DocumentEditOptions

  func run(_ console: Console) async throws {
    let path = try DocumentPath(path)
    let fields = try DocumentInput.fields(try Input.json(value), typed: typed, of: path)
    try await write.perform(path, "set \(path)", making: true, console) { database in
      merge
        ? try Mutation.merge(path, fields, in: database)
        : try Mutation.set(path, fields, in: database)
    }
  }
}
