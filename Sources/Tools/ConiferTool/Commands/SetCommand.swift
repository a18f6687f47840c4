import ArgumentParser
import ConiferStorage
import ConiferTree

/// Replaces the node at a path.
struct SetCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Replace the node at a path with JSON.",
    discussion: "Write -- before a negative number: conifer set /a -- -5.")

  @Argument(help: "The path, such as /rooms/lobby; a last key .priority sets only the priority.")
  var path: String
  @Argument(help: "The value in JSON, in export form; null deletes, - reads standard input.")
  var value: String
  @OptionGroup var edit: EditOptions
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    let path = try Input.path(path)
    let node = try Node(json: try Input.json(value))
    try path.validate(writing: node)
    try await edit.perform(
      { .overwrite($0, path, node) }, or: .set(path, node, time: Platform.now()), "set \(path)",
      store, console)
  }
}
