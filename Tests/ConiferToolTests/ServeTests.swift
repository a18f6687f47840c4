#if Network
  import ConiferServer
  import ConiferTree
  import Testing

  @testable import ConiferTool

  @Suite struct ServeTests {
    @Test("Rules that are none end the server before it begins, with line and column")
    func badRules() async throws {
      let sandbox = try Sandbox()
      let file = try sandbox.file("rules.json", "{\n  \"rules\": { \".read\": \"nonsense(\" }\n}")
      let output = await sandbox.run("serve", "--port", "0", "--rules", file)
      #expect(output.status == .badData)
      #expect(output.notes.contains("\(file):2:"))
      #expect(output.text.isEmpty)
      let missing = await sandbox.run("serve", "--port", "0", "--rules", sandbox.path("none"))
      #expect(missing.status == .missing)
    }

    @Test("A file of rules that changes changes the rules; one that is none, or is gone, does not")
    func reload() async throws {
      let sandbox = try Sandbox()
      let text = { (allowed: Bool) in #"{"rules":{".read":\#(allowed)}}"# }
      let path = try sandbox.file("rules.json", text(false))
      let (notes, line) = AsyncStream<String>.makeStream()
      let console = Console(
        write: { (_: [UInt8]) throws in }, note: { (note: String) in line.yield(note) },
        environment: { (_: String) in nil })
      let server = Server(ServerConfiguration())
      let file = try RulesFile(path, server, console)
      try file.adopt("mine")
      func rules() -> String { String(decoding: server.rulesSource(in: "mine"), as: UTF8.self) }
      #expect(rules() == text(false))
      let watch = Task { try await file.run() }
      var said = notes.makeAsyncIterator()
      // The file may be looked at while it is written: what is said of that does not count.
      func wait(for words: String) async {
        while let note = await said.next(), !note.contains(words) {}
      }
      _ = try sandbox.file("rules.json", text(true))
      await wait(for: "as it is now")
      #expect(rules() == text(true))
      _ = try sandbox.file("rules.json", "{")
      await wait(for: "rules.json:1:")
      Platform.removeTree(path)
      await wait(for: "cannot be read")
      #expect(rules() == text(true))
      watch.cancel()
      try await watch.value
    }

    @Test("Keys, names and numbers that make no sense end the server before it begins")
    func badOptions() async throws {
      let sandbox = try Sandbox()
      let key = try sandbox.file("key", "no key\n")
      #expect(await sandbox.run("serve", "--port", "0", "--token-key", key).status == .badData)
      let empty = try sandbox.file("empty", "\n")
      #expect(await sandbox.run("serve", "--port", "0", "--token-secret", empty).status == .badData)
      #expect(await sandbox.run("serve", "--port", "70000").status == .usage)
      #expect(await sandbox.run("serve", "--namespace", "../x").status == .usage)
      #expect(await sandbox.run("serve", "--port", "0", "--store", "memory://").status == .usage)
      #expect(
        await sandbox.run("serve", "--port", "0", "--host", "256.0.0.1").status == .denied)
    }

    @Test(
      "The server says where it is, owns its store, and ends in good order when it is asked to",
      .enabled(if: Repository.tool != nil, "The built tool is not beside the tests."))
    func process() async throws {
      let sandbox = try Sandbox()
      let tool = try #require(Repository.tool)
      let child = try ChildProcess(
        ["serve", "--port", "0", "--store", sandbox.url("lmdb"), "--namespace", "mine"], of: tool)
      let line = try child.line()
      #expect(line?.hasPrefix("http://localhost:") == true)
      let busy = await sandbox.run("serve", "--port", "0", "--store", sandbox.url("lmdb"))
      #expect(busy.status == .busy)
      child.terminate()
      #expect(try child.wait() == .exited(0))
      // The store is left in order; its tree is made by the first write.
      let set = await sandbox.run(
        ["set", "--tree", "mine", "a", "1"], store: sandbox.url("lmdb"))
      #expect(set.status == .success)
      #expect(
        await sandbox.run(["get", "--tree", "mine", "a"], store: sandbox.url("lmdb")).line == "1"
      )
    }
  }
#endif
