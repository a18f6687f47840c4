import ArgumentParser
import ConiferStorage
import ConiferTree

/// Protects a path from eviction.
struct PinCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "pin", abstract: "Protect all data at and below a path from eviction.")

  @Argument(help: "The path.")
  var path: String
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    // A tree is not made for a pin: its name may be a typing mistake.
    try await store.reading(console, .any) { opened in
      let path = try opened.places.path(path)
      try await opened.backend.commit([.pin(Pin(tree: opened.tree, path: path))])
      try console.print(
        store.json
          ? Report.object([("ok", .bool(true))]).compact : "pin \(opened.places.words(path))")
    }
  }
}

/// Ends a protection.
struct UnpinCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "unpin", abstract: "End the protection of a path.")

  @Argument(help: "The path.")
  var path: String
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    try await store.reading(console, .any) { opened in
      let path = try opened.places.path(path)
      let pin = Pin(tree: opened.tree, path: path)
      let pins = try opened.backend.inspect { try $0.pins(opened.tree) }
      guard pins.contains(pin) else {
        throw Failure.missing(
          "no-pin", "\(opened.places.words(path)) is not pinned; conifer pins lists what is.")
      }
      try await opened.backend.commit([.unpin(pin)])
      try console.print(
        store.json
          ? Report.object([("ok", .bool(true))]).compact : "unpin \(opened.places.words(path))")
    }
  }
}

/// Lists the protections.
struct PinsCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "pins", abstract: "List what is pinned.")

  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    try await store.reading(console, .any) { opened in
      let pins = try opened.backend.inspect { try $0.pins(opened.tree) }
      guard !store.json else {
        let rows = pins.map { pin in
          Report.object([
            ("path", .string(opened.places.words(pin.path))),
            ("parameters", .string(opened.places.words(parameters: pin.parameters))),
          ])
        }
        return try console.print(Report.list(rows).compact)
      }
      var table = Table(["path", "parameters"])
      for pin in pins {
        table.add(opened.places.words(pin.path), opened.places.words(parameters: pin.parameters))
      }
      for line in pins.isEmpty ? ["nothing is pinned"] : table.lines { try console.print(line) }
    }
  }
}
