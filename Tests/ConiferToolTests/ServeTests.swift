#if Network
  import ArgumentParser
  import ConiferDocumentServer
  import ConiferServer
  import ConiferStorage
  import ConiferTree
  import Testing

  @testable import ConiferTool

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  @Suite struct ServeTests {
    /// A file of rules that a server watches.
    private struct WatchedRules {
      let path: String
      private let sandbox: Sandbox
      private let server = Server(ServerConfiguration())
      private let watch: Task<Void, any Error>
      private var said: AsyncStream<String>.Iterator

      init(_ text: String) throws {
        sandbox = try Sandbox()
        path = try sandbox.file("rules.json", text)
        let (notes, line) = AsyncStream<String>.makeStream()
        let console = Console(
          write: { (_: [UInt8]) throws in }, note: { (note: String) in line.yield(note) },
          environment: { (_: String) in nil })
        let file = try RulesFile(path, server, console)
        watch = Task { try await file.run() }
        said = notes.makeAsyncIterator()
      }

      /// The rules that the server goes by.
      var rules: String { String(decoding: server.rulesSource(in: "mine"), as: UTF8.self) }

      func write(_ text: String) throws { _ = try sandbox.file("rules.json", text) }

      /// Returns when some words are said. The file may be looked at while it is written: what is said of
      /// that does not count.
      mutating func wait(for words: String) async {
        while let note = await said.next(), !note.contains(words) {}
      }

      func end() async throws {
        watch.cancel()
        try await watch.value
      }
    }

    private func text(_ allowed: Bool) -> String { #"{"rules":{".read":\#(allowed)}}"# }

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

    @Test(
      "The port of gRPC is a port, and another one than the first",
      arguments: ["70000", "-1", "9000"])
    func grpcPort(_ port: String) async throws {
      let sandbox = try Sandbox()
      let output = await sandbox.run("serve", "--port", "9000", "--grpc-port=\(port)")
      #expect(output.status == .usage && output.notes.contains("--grpc-port"))
    }

    @Test(
      "A file of rules that changes changes the rules; one that is none, or is gone, does not",
      .timeLimit(.minutes(10)))
    func reload() async throws {
      var watched = try WatchedRules(text(false))
      #expect(watched.rules == text(false))
      try watched.write(text(true))
      await watched.wait(for: "as it is now")
      #expect(watched.rules == text(true))
      try watched.write("{")
      await watched.wait(for: "rules.json:1:")
      Directory.remove(watched.path)
      await watched.wait(for: "cannot be read")
      #expect(watched.rules == text(true))
      try await watched.end()
    }

    @Test("A file of rules is a file, and a small one: no pipe or device, at the start or later")
    func odd() async throws {
      let sandbox = try Sandbox()
      let console = Console(
        write: { (_: [UInt8]) throws in }, note: { (_: String) in },
        environment: { (_: String) in nil })
      let pipe = sandbox.path("pipe")
      #expect(mkfifo(pipe, 0o600) == 0)
      let large = try sandbox.file("large", String(repeating: " ", count: 2 << 20) + "{}")
      for path in ["/dev/null", pipe, "/dev/zero", large, sandbox.path("")] {
        do {
          _ = try RulesFile(path, Server(ServerConfiguration()), console)
          Issue.record("\(path) was taken.")
        } catch let failure as Failure {
          #expect(["not-a-file", "too-large"].contains(failure.code), "\(path): \(failure)")
          #expect(failure.status == .badData)
        }
      }
    }

    @Test(
      "What takes the place of a file of rules for a while ends neither the watch nor the server",
      .timeLimit(.minutes(10)))
    func replaced() async throws {
      var watched = try WatchedRules(text(false))
      let path = watched.path
      var allowed = false
      for make in [
        { mkfifo(path, 0o600) }, { symlink("/dev/zero", path) }, { mkdir(path, 0o700) },
      ] {
        Directory.remove(path)
        #expect(make() == 0)
        await watched.wait(for: "cannot be read")
        #expect(watched.rules == text(allowed))
        allowed.toggle()
        Directory.remove(path)
        try watched.write(text(allowed))
        await watched.wait(for: "as it is now")
        #expect(watched.rules == text(allowed))
      }
      Directory.remove(path)
      #expect(mkfifo(path, 0o600) == 0)
      await watched.wait(for: "cannot be read")
      try await watched.end()
    }

    @Test("A key that may sign tokens of others needs to be told whose are meant")
    func audience() async throws {
      let sandbox = try Sandbox()
      let key = try sandbox.file("key", "no key\n")
      let secret = try sandbox.file("secret", "secret")
      for options in [
        ["--token-key", key], ["--token-project", "p"], ["--allow-endless"], ["--open-documents"],
        ["--token-key", key, "--token-project", "p", "--token-issuer", "i"],
        ["--token-key", key, "--token-project", ""],
        ["--token-secret", secret, "--allow-any-audience", "--token-audience", "a"],
      ] {
        #expect(
          await sandbox.run(["serve", "--port", "0"] + options, store: nil).status == .usage,
          "\(options)")
      }
      for options in [
        ["--token-project", "p"], ["--token-audience", "a", "--token-issuer", "i"],
        ["--allow-any-audience"],
      ] {
        // It comes as far as the key, which is none.
        let output = await sandbox.run(
          ["serve", "--port", "0", "--token-key", key] + options, store: nil)
        #expect(output.status == .badData, "\(options)")
      }
    }

    @Test("Without keys, that every website may ask is said before the server begins")
    func everyWebsite() async throws {
      let sandbox = try Sandbox()
      for (origin, isSaid) in [("*", true), ("http://a.test", false)] {
        let output = await sandbox.run(
          "serve", "--port", "0", "--host", "256.0.0.1", "--origin", origin)
        #expect(output.status == .denied)
        #expect(output.notes.contains("every website") == isSaid, "\(output.notes)")
      }
    }

    @Test("Keys, names and numbers that are invalid end the server before it begins")
    func badOptions() async throws {
      let sandbox = try Sandbox()
      let key = try sandbox.file("key", "no key\n")
      #expect(
        await sandbox.run(
          "serve", "--port", "0", "--token-key", key, "--token-project", "p"
        ).status == .badData)
      let empty = try sandbox.file("empty", "\n")
      #expect(await sandbox.run("serve", "--port", "0", "--token-secret", empty).status == .badData)
      #expect(await sandbox.run("serve", "--port", "70000").status == .usage)
      #expect(await sandbox.run("serve", "--namespace", "../x").status == .usage)
      for origin in ["example.org", "http://a.test/", "http://a.test:80", ""] {
        let output = await sandbox.run("serve", "--port", "0", "--origin", origin)
        #expect(output.status == .usage, "\(origin)")
        #expect(output.notes.contains("http://app.test:5173"), "\(origin)")
      }
      #expect(await sandbox.run("serve", "--port", "0", "--store", "memory://").status == .usage)
      #expect(
        await sandbox.run("serve", "--port", "0", "--host", "256.0.0.1").status == .denied)
    }

    @Test("Both servers tidy their store as the option says, and by themselves without it")
    func housekeeping() async throws {
      for (arguments, expected) in [
        ([], Housekeeping.automatic), (["--housekeeping", "automatic"], .automatic),
        (["--housekeeping", "off"], .off),
      ] as [([String], Housekeeping)] {
        let command = try ServeCommand.parse(arguments)
        let authenticator = try await command.tokens.authenticator()
        #expect(command.serverConfiguration(authenticator).housekeeping == expected)
        #expect(command.documentConfiguration(authenticator).housekeeping == expected)
      }
      let output = await (try Sandbox()).run("serve", "--port", "0", "--housekeeping", "sometimes")
      #expect(output.status == .usage && output.notes.contains("automatic"), "\(output)")
    }

    @Test("The help has examples, which parse")
    func examples() async throws {
      let help = await (try Sandbox()).run("serve", "--help").text
      let examples = help.split(separator: "\n").filter { $0.hasPrefix("  conifer serve") }
      #expect(examples.count > 4)
      for example in examples {
        let arguments = example.split(separator: " ").dropFirst(2).map(String.init)
        #expect(throws: Never.self, "\(example)") { try ServeCommand.parse(arguments) }
      }
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
