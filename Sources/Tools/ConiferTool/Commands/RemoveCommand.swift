import ArgumentParser
import ConiferStorage
import ConiferTree

/// Deletes the node at a path.
struct RemoveCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Delete the node at a path.")

  @Argument(help: "The path.")
  var path: String
  @OptionGroup var edit: EditOptions
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    let path = try Input.path(path)
    try path.validate(writing: .empty)
    try await edit.perform(
      { .overwrite($0, path, .empty) }, or: .set(path, .empty, time: Platform.now()),
      "remove \(path)", store, console)
  }
}
