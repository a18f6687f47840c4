import ArgumentParser
import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// Shows on real data what a store promises, and kills itself to prove it.
struct DemoCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Store a tree, query, pin, queue, be killed, reopen, and find all of it.",
    discussion: """
      Without --store the demo uses the default backend in a fresh temporary directory, and leaves \
      it there to be looked at. It works in a tree of its own, "demo".
      """)

  @Option(help: "A tree of facts to begin with.", completion: .file(extensions: ["json"]))
  var data: String?
  @Option(help: "How many rooms the generated chat has.")
  var rooms = ChatGenerator.standardRooms
  @Option(help: "How many messages a room has.")
  var messages = ChatGenerator.standardMessages
  @Option(help: "How many commits to await before the kill.")
  var commits = 200
  @Option(help: "The store's URL; a fresh temporary one by default.")
  var store: String?
  @Flag(help: "Print JSON, for programs.")
  var json = false

  func validate() throws {
    guard rooms > 0, messages > 0, commits > 0 else {
      throw ValidationError("--rooms, --messages and --commits are numbers from 1.")
    }
  }

  func run(_ console: Console) async throws {
    let named = store ?? console.environment("CONIFER_STORE")
    let url = try named ?? Self.temporaryStore()
    var options = StoreOptions()
    options.store = url
    options.tree = "demo"
    options.keyFile = nil
    options.json = json
    let demo = Demo(
      facts: try Self.facts(data), chat: ChatGenerator(rooms: rooms, messages: messages),
      commits: commits, options: options, url: url, console: console)
    try await demo.run()
  }

  private static func temporaryStore() throws -> String {
    let kind = StoreOptions.registry.kinds.first?.name ?? ""
    // A path with a % or a ? would mean something else in a URL.
    let directory = try Platform.temporaryDirectory(prefix: "conifer-demo")
    let escaped = directory.utf8.reduce(into: "") { text, byte in
      let plain = byte < 0x80 && byte != UInt8(ascii: "%") && byte != UInt8(ascii: "?")
      let hex = String(byte, radix: 16)
      text += plain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + hex
    }
    return "\(kind)://\(escaped)/store"
  }

  /// The facts: a named file, or the repository's, from where the user or the program stands.
  private static func facts(_ named: String?) throws -> Node {
    let home = "Examples/Data/dinosaurs.json"
    guard let path = named ?? ([home] + ChildProcess.neighbours(home)).first(where: Platform.exists)
    else {
      throw Failure.missing(
        "no-input", "\(home) is not here: run the demo in the repository, or name it with --data.")
    }
    var bytes: [UInt8] = []
    let descriptor = try Platform.openForReading(path)
    defer { Platform.closeFile(descriptor) }
    while try Platform.read(descriptor, atMost: 1 << 16, into: &bytes) {}
    return try Node(json: bytes)
  }
}
