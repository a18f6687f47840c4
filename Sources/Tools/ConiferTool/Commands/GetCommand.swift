import ArgumentParser
import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// Prints the node at a path.
struct GetCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Print the node at a path as JSON; null when there is none.")

  @Argument(help: "The path.")
  var path: String = "/"
  @Flag(help: "Print the keys of the children only, with true for each.")
  var shallow = false
  @Flag(help: "Hide priorities and print arrays, as apps see values.")
  var plain = false
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    let path = try Input.path(path)
    try await store.reading(console) { store in
      let bytes = try store.backend.inspect { view in
        shallow ? try keys(view, store.tree, path) : try value(view, store.tree, path)
      }
      try console.write(bytes + [UInt8(ascii: "\n")])
    }
  }

  private func value(_ view: any StorageView, _ tree: TreeID, _ path: Path) throws -> [UInt8] {
    try view.node(tree, path).json(plain ? .plain : .export, pretty: !store.json)
  }

  private func keys(_ view: any StorageView, _ tree: TreeID, _ path: Path) throws -> [UInt8] {
    guard try !view.childKeys(tree, path, after: nil, limit: 1).isEmpty else {
      return try value(view, tree, path)
    }
    var writer = JSONWriter(pretty: !store.json)
    writer.beginObject()
    try view.forEachKey(tree, path) { key in
      writer.key(key.string)
      writer.bool(true)
      return true
    }
    writer.endObject()
    return writer.bytes
  }
}
