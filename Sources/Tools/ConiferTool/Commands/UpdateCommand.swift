import ArgumentParser
import ConiferStorage
import ConiferTree

/// Replaces several nodes below a path and leaves their siblings.
struct UpdateCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "update", abstract: "Replace several nodes below a path, all or none.")

  @Argument(help: "The path that the update's keys are relative to.")
  var path: String
  @Argument(
    help: "A JSON object of relative paths and values; null deletes, - reads standard input.")
  var value: String
  @OptionGroup var edit: EditOptions
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    let path = try Input.path(path)
    let members = try Input.members(try Input.json(value))
    try Path.validate(merging: members.map(\.path))
    for member in members { try path.appending(member.path).validate(writing: member.node) }
    let relative = members.map { NodeChange($0.path, $0.node) }
    let absolute = members.map { NodeChange(path.appending($0.path), $0.node) }
    let content = WriteContent(
      kind: .update, path: path, changes: absolute, time: Platform.now())
    try await edit.perform(
      { .merge($0, path, relative) }, or: content,
      "update \(path): \(Figures.count(members.count)) values", store, console)
  }
}
