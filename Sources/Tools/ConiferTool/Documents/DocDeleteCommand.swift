import ArgumentParser
import ConiferDocument

/// Deletes a document.
struct DocDeleteCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Delete a document; those in collections below it stay, as in Firestore.")

  @Argument(help: "The document, such as rooms/eros.")
  var path: String
  @OptionGroup var write: DocumentEditOptions

  func run(_ console: Console) async throws {
    let path = try DocumentPath(path)
    try await write.perform(path, "delete \(path)", making: false, console) { _ in
      try Mutation.delete(path)
    }
  }
}
