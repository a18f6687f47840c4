import ArgumentParser
import ConiferTree

/// Prints the generated chat as JSON, for imports and measurements.
struct DemoChatCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo-chat",
    abstract: "Print the demo's generated chat as JSON, the same on every machine.")

  @Option(help: "How many rooms.")
  var rooms = ChatGenerator.standardRooms
  @Option(help: "How many messages a room; each has three leaves.")
  var messages = ChatGenerator.standardMessages

  func validate() throws {
    guard (1...1_000_000).contains(rooms), (1...1_000_000).contains(messages) else {
      throw ValidationError("--rooms and --messages are numbers from 1 to 1,000,000.")
    }
  }

  func run(_ console: Console) async throws {
    let generator = ChatGenerator(rooms: rooms, messages: messages)
    var writer = JSONWriter { try console.write($0) }
    writer.beginObject()
    for room in 0..<rooms {
      writer.key(generator.key(room).string)
      generator.room(room).write(to: &writer, .export)
      if let failure = writer.failure { throw failure }
    }
    writer.endObject()
    try writer.finish()
    try console.write([UInt8(ascii: "\n")])
  }
}
