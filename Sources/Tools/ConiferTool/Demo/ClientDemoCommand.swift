import ArgumentParser
import ConiferStorage

/// Shows an app's client that writes offline, is killed, and continues.
struct ClientDemoCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "client",
    abstract: "Listen, lose the network, write, be killed, restart offline, reconnect, agree.",
    discussion: """
      Client, server and the network between them are processes of their own, which are killed. Client and \
      server keep their data in a store each. Without --store they are made with the default backend in a \
      fresh temporary directory, and left there to be looked at; the server's is beside the client's, with \
      "-server" behind its name. CONIFER_STORE means nothing to it.
      """)

  @Flag(help: "Show the client of documents, over gRPC.")
  var documents = false
  @Option(
    help: "The server's initial data: a tree of facts.",
    completion: .file(extensions: ["json"]))
  var data: String?
  @Option(help: "How many offline writes to await before the kill.")
  var writes = 200
  @Option(help: "The client's store; a fresh temporary one by default.")
  var store: String?
  @Flag(help: "Print JSON, for programs.")
  var json = false

  func validate() throws {
    guard writes > 0 else { throw ValidationError("--writes is a number from 1.") }
    #if !Network
      throw ValidationError(
        "This conifer was built without the trait Network, and has only demo store.")
    #endif
  }

  func run(_ console: Console) async throws {
    #if Network
      #if !GRPC
        guard !documents else {
          throw Failure(
            "unsupported", .usage,
            "This conifer was built without gRPC, over which documents go: build it with swift build "
              + "--product conifer --traits Zstd,Network,GRPC, or start Scripts/demo --documents, which does."
          )
        }
      #endif
      let stores = try DemoStores(try store ?? DemoFiles.temporaryStore())
      #if GRPC
        if documents {
          let facts = try DemoDocuments(try DemoFiles.json(data))
          return try await DocumentDemo(
            facts: facts, writes: writes, stores: stores, json: json, console: console
          ).run()
        }
      #endif
      try await ClientDemo(
        facts: try DemoFiles.facts(data), writes: writes, stores: stores, json: json,
        console: console
      ).run()
    #endif
  }
}
