import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

@Suite struct DemoTests {
  /// Runs a demo on a new store, and returns the figures of its report.
  private func demo(_ words: String..., backend: String) throws -> Node {
    let sandbox = try Sandbox()
    let tool = try #require(Repository.tool)
    let child = try ChildProcess(
      ["demo"] + words + [
        "--store", sandbox.url(backend), "--json", "--data",
        Repository.root + "/Examples/Data/dinosaurs.json",
      ], of: tool)
    var lines: [String] = []
    while let line = try child.line() { lines.append(line) }
    #expect(try child.wait() == .exited(0))
    return try Node(json: lines.joined())[Key("figures")]
  }

  @Test("The generated chat is the same everywhere")
  func chat() {
    let chat = ChatGenerator()
    #expect(chat.total == 50_000)
    #expect(NodeHash.hash(chat.room(0)) == "gyzNSYBg/RBOloQWmivMCjKJL74=")
    #expect(NodeHash.hash(chat.room(124)) == "hWbv63142T6XF3MtsoJvIBxoUBg=")
    #expect(Set((0..<chat.rooms).map(chat.key)).count == chat.rooms)
    #expect(chat.room(7).childCount == chat.messages)
  }

  @Test(
    "The demo is killed in its midst and finds all that was acknowledged",
    .enabled(if: Repository.tool != nil, "The built tool is not beside the tests."),
    arguments: persistentBackends)
  func demo(backend: String) async throws {
    let figures = try demo(
      "store", "--rooms", "4", "--messages", "20", "--commits", "40", backend: backend)
    #expect(figures[Key("leaves stored")] == Node(.integer(54 + 4 * 20 * 3)))
    let acknowledged = figures[Key("commits acknowledged before the kill")].leaf?.number ?? 0
    let found = figures[Key("commits found afterwards")].leaf?.number ?? 0
    #expect(acknowledged >= 40 && found >= acknowledged)
  }

  #if Network
    @Test(
      "The client demo is killed offline, and the server has each of its writes once",
      .enabled(if: Repository.tool != nil, "The built tool is not beside the tests."),
      arguments: persistentBackends)
    func client(backend: String) async throws {
      let figures = try demo("--writes", "40", backend: backend)
      let durable = figures[Key("writes on the medium before the kill")].leaf?.number ?? 0
      let waiting = figures[Key("writes in the queue after the kill")].leaf?.number ?? 0
      let counted = figures[Key("writes that the server counted once")].leaf?.number ?? 0
      #expect(durable >= 40 && waiting >= durable && counted == waiting)
    }
  #endif

  #if Network && GRPC
    @Test(
      "In the demo of documents client and server are killed, and the server has each write once",
      .enabled(if: Repository.tool != nil, "The built tool is not beside the tests."),
      arguments: persistentBackends)
    func documents(backend: String) async throws {
      let figures = try demo("--documents", "--writes", "40", backend: backend)
      func figure(_ name: String) -> Double { figures[Key(name)].leaf?.number ?? -1 }
      let durable = figure("writes on the medium before the kill")
      let waiting = figure("writes in the queue after the kill")
      #expect(durable >= 40 && waiting >= durable)
      let lost = figure("writes whose answers were lost with the processes")
      #expect(lost == 5)
      #expect(figure("writes that the server made once") == waiting + lost)
      #expect(figure("receipts that were followed over the restarts") == durable + lost)
      #expect(figure("refused writes that were sent again") == 1)
      #expect(figure("documents compared") > figure("documents shown from the cache") / 2)
      #expect(figure("documents that differ, writes missing or counted twice") == 0)
    }
  #elseif Network
    @Test("The demo of documents says what it is not built with")
    func documentsWithoutGRPC() async throws {
      let output = await Sandbox().run("demo", "--documents")
      #expect(output.status == .usage && output.notes.contains("--traits Zstd,Network,GRPC"))
    }
  #endif

  @Test("A proof fails when something acknowledged is missing", arguments: backends)
  func disproof(backend: String) async throws {
    let sandbox = try Sandbox()
    try await sandbox.opened(backend) { store in
      let lane = Lane(tree: store.tree, identity: DemoWriterCommand.identity)
      let pinned: Path = "/pinned"
      var acknowledged = Acknowledged()
      for _ in 0..<3 { _ = try await store.backend.commit([.enqueue(lane, .set("/x", 1))]) }
      try await store.backend.commit([.pin(Pin(tree: store.tree, path: pinned))])
      for number in 1...2 {
        let path = DemoWriterCommand.place.appending(Key(number))
        let node = DemoWriterCommand.node(number)
        let receipt = try await store.backend.commit([
          .enqueue(lane, .set(path, node)), .overwrite(store.tree, path, node),
        ])
        acknowledged.add("\(number) \(receipt.writes[0].rawValue)")
      }
      func proof() throws -> Int {
        try store.backend.inspect {
          try Proof($0, store.tree, acknowledged, pinned: pinned).found
        }
      }
      #expect(try proof() == 2)
      acknowledged.add("3 6")
      #expect(throws: Failure.self) { try proof() }
    }
  }
}
