import ArgumentParser
import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// Shows on real data what a store promises, and kills itself to prove it.
struct StoreDemoCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "store",
    abstract: "Store a tree, query, pin, queue, be killed, reopen, and find all of it.",
    discussion: """
      Without --store the demo uses the default backend in a fresh temporary directory, and leaves \
      it there to be looked at. It works in a tree of its own, "demo", and evicts half of the cache. \
      CONIFER_STORE means nothing to it.
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
    // The environment variable CONIFER_STORE is ignored, because the demo evicts data and must not
    // do so in somebody's own store.
    let url = try store ?? DemoFiles.temporaryStore()
    var options = StoreOptions()
    options.store = url
    options.tree = StoreDemo.tree
    options.keyFile = nil
    options.json = json
    let demo = StoreDemo(
      facts: try DemoFiles.facts(data), chat: ChatGenerator(rooms: rooms, messages: messages),
      commits: commits, options: options, url: url, console: console)
    try await demo.run()
  }
}
