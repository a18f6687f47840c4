#if Encryption
  import ConiferEncryption
  import ConiferKeyValue
  import ConiferLog
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

  @Suite(.enabled(if: Repository.tool != nil, "The built tool is not beside the tests."))
  struct KeyCommandTests {
    let sandbox: Sandbox
    let (old, new): (String, String)

    init() throws {
      sandbox = try Sandbox()
      old = try sandbox.file("old", [UInt8](repeating: 1, count: 32))
      new = try sandbox.file("new", [UInt8](repeating: 2, count: 32))
      for path in [old, new] { chmod(path, 0o600) }
    }

    private func configuration(_ url: String, _ key: UInt8) throws -> StorageConfiguration {
      try Tool.registry.configuration(
        url,
        defaults: StorageOptions(
          budget: nil, encryption: StoreEncryption(key: [UInt8](repeating: key, count: 32))))
    }

    /// Two trees, two queues, and so many rooms.
    private func fill(_ url: String, rooms: Int) async throws {
      try await StoreOptions.opened(configuration(url, 1)) { backend in
        let (main, other) = (
          try await backend.tree(named: "main"), try await backend.tree(named: "other")
        )
        for number in 0..<rooms {
          let room = Node(
            children: (0..<100).map { message in
              (Key("m\(message)"), Node(.string("message \(message &* 7919) of room \(number)")))
            })
          let path = Path("rooms/r\(number)")
          _ = try await backend.commit(
            [
              .overwrite(main, path, room),
              .saveQuery(TrackedQuery(tree: main, path: path, isComplete: true)),
            ], .process)
        }
        try await backend.commit([.overwrite(other, "a", 1), .pin(Pin(tree: other, path: "a"))])
        for identity in ["ann", "bob"] {
          for number in 0..<5 {
            try await backend.commit([
              .enqueue(Lane(tree: main, identity: identity), .set(Path("x\(number)"), "write"))
            ])
          }
        }
      }
    }

    private func digest(_ url: String, _ key: UInt8) async throws -> StoreDigest {
      try await StoreOptions.opened(configuration(url, key)) { try await StoreDigest.of($0) }
    }

    @Test("A rotation that is killed at any time goes on", arguments: ["lmdb", "sqlite", "log"])
    func rotate(backend: String) async throws {
      let url = sandbox.url(backend)
      try await fill(url, rooms: 150)
      let digest = try await digest(url, 1)
      let arguments = ["rotate", "--store", url, "--key-file", old, "--new-key-file", new]
      var kills = 0
      for changes in [1, 2, 4, 8, 12] {
        let end = try sandbox.kill(arguments, after: changes, in: "store")
        if end == .exited(0) { break }
        #expect(end == .killed(signal: ChildProcess.killSignal), "\(end)")
        kills += 1
      }
      #expect(kills > 0)
      let (status, text) = try sandbox.spawn(arguments)
      #expect(status == 0 && text.hasSuffix("every record is encrypted with new keys"), "\(text)")
      #expect(try await self.digest(url, 2) == digest)
      #expect(try sandbox.spawn("verify", "--store", url, "--key-file", old).status == 77)
      #expect(try sandbox.spawn("verify", "--store", url, "--key-file", new).status == 0)
      let again = try sandbox.spawn(arguments)
      #expect(again.status == 0 && again.text.hasPrefix("was rotated before"), "\(again.text)")
      // Neither key, the same key, no key.
      let third = try sandbox.file("third", [UInt8](repeating: 3, count: 32))
      for (files, expected) in [
        ([old, third], 77), ([third, old], 77), ([new, new], 64),
      ] as [([String], Int32)] {
        let end = try sandbox.spawn(
          "rotate", "--store", url, "--key-file", files[0], "--new-key-file", files[1])
        #expect(end.status == expected, "\(end.text)")
      }
      #expect(
        try sandbox.spawn(
          "rotate", "--store", sandbox.url(backend, "none"), "--key-file", old,
          "--new-key-file", new
        ).status == 66)
    }

    @Test("Erasing and rotating tell of durable commits that are missing")
    func missing() async throws {
      let url = sandbox.url("log")
      try await fill(url, rooms: 1)
      // The store has no number, as one of an earlier version, beside a mark that names some commits.
      let store = try LogStore(at: sandbox.path("store"))
      var batch = Batch()
      batch.delete(Space(id: 14, shape: .rows), [0, 0, 0, 0, 0x63])
      _ = try store.apply(batch, .power)
      try store.close()
      try Directory.copyFiles(
        sandbox.path("store"), to: sandbox.path("left"), leaving: StoreVerification.locks)
      let words = "newest durable commits are lost"
      let end = await sandbox.run("erase", "--all", "--store", url, "--key-file", old)
      #expect(end.status == .usage && end.notes.contains(words), "\(end)")
      let rotated = await sandbox.run(
        "rotate", "--store", sandbox.url("log", "left"), "--key-file", old, "--new-key-file", new)
      #expect(rotated.status == .success && rotated.notes.contains(words), "\(rotated)")
    }

    @Test("A queue, a tree and a store are erased when that is confirmed, and verify says so")
    func erase() async throws {
      let url = sandbox.url("sqlite")
      try await fill(url, rooms: 3)
      let base = ["--store", url, "--key-file", old]
      let queue = ["erase", "--lane", "ann"] + base
      #expect(try sandbox.spawn(queue).status == 64)
      #expect(try sandbox.spawn(["erase"] + base).status == 64)
      #expect(try sandbox.spawn(["erase", "--all", "--lane", "ann"] + base).status == 64)
      #expect(try sandbox.spawn(["erase", "--lane", "eve", "--confirm"] + base).status == 66)
      #expect(try sandbox.spawn(["erase", "--tree", "eve", "--confirm"] + base).status == 66)
      let listing = ["queue", "list", "--identity", "ann"] + base
      #expect(try sandbox.spawn(listing).status == 0)
      let (status, text) = try sandbox.spawn(queue + ["--confirm"])
      #expect(status == 0 && text == "erased the queue of \"ann\" in tree \"main\"", "\(text)")
      #expect(try sandbox.spawn(listing).status == 77)
      var (end, told) = try sandbox.spawn(["verify"] + base)
      #expect(end == 0 && told.hasSuffix("sound"), "\(told)")
      #expect(
        told.contains("not checked: queue of \"ann\" in tree \"main\": 10 records"), "\(told)")
      #expect(told.contains("their key was erased"))
      #expect(try sandbox.spawn(["erase", "--tree", "other", "--confirm"] + base).status == 0)
      (end, told) = try sandbox.spawn(["verify", "--json"] + base)
      #expect(end == 0, "\(told)")
      let locked = try Node(json: told).member("locked").children.map(\.node)
      #expect(locked.compactMap { $0.member("tree").text } == ["main", "other"])
      #expect(locked.allSatisfy { $0.member("why").text == "erased" })
      // Nothing that can be read keeps from migrating half of a store.
      let copy = try sandbox.spawn(
        "migrate", url, sandbox.url("log", "copy"), "--from-key-file", old)
      #expect(copy.status == 77 && Platform.isMissing(sandbox.path("copy")), "\(copy.text)")
      #expect(try sandbox.spawn(["erase", "--all", "--confirm"] + base).status == 0)
      #expect(try sandbox.spawn(["get", "/"] + base).status == 77)
    }

    @Test("Salvage saves what is not erased, and says what it left out", arguments: knownBackends)
    func salvage(backend: String) async throws {
      let url = sandbox.url(backend, "from")
      try await fill(url, rooms: 3)
      let base = ["--store", url, "--key-file", old]
      let whole = try await digest(url, 1)
      #expect(try sandbox.spawn(["erase", "--lane", "ann", "--confirm"] + base).status == 0)
      let to = sandbox.url("log", "to")
      let (status, text) = try sandbox.spawn("salvage", url, to, "--from-key-file", old)
      #expect(status == 0, "\(text)")
      #expect(text.contains("not saved: queue of \"ann\" in tree \"main\": 10 records"), "\(text)")
      let saved = try await sandbox.digest(to)
      for (part, sum) in whole.sums where !part.contains("ann") {
        #expect(saved.sums[part] == sum, "\(part)")
      }
      #expect(try sandbox.spawn("verify", "--store", to).status == 0)
      // A tree, whose registry entry is the store's.
      #expect(try sandbox.spawn(["erase", "--tree", "main", "--confirm"] + base).status == 0)
      let second = sandbox.url("sqlite", "second")
      let end = try sandbox.spawn("salvage", url, second, "--from-key-file", old)
      #expect(end.status == 0 && end.text.contains("tree other: 1 leaves"), "\(end.text)")
      #expect(try await sandbox.digest(second).sums["data of other"] == whole.sums["data of other"])
      #expect(try sandbox.spawn("verify", "--store", second).status == 0)
      #expect(try sandbox.spawn("salvage", url, sandbox.url("log", "no")).status == 77)
      #expect(
        Platform.isMissing(sandbox.path("no")) && Platform.isMissing(sandbox.path("no.salvage")))
    }

    @Test("A key that others may read is told once a run")
    func toldOnce() async throws {
      let url = sandbox.url("log")
      try await fill(url, rooms: 1)
      chmod(old, 0o644)
      let own = await sandbox.run("compact", "--store", url, "--key-file", old)
      #expect(own.notes.components(of: "chmod 600") == 1, "\(own.notes)")
      // With a process of its own, which has the same error output.
      let tool = try #require(Repository.tool)
      for command in [
        "verify --store \(url) --key-file \(old)",
        "salvage \(url) \(sandbox.url("log", "to")) --from-key-file \(old) --to-key-file \(old)",
      ] {
        let child = try ChildProcess(["-c", "\(tool) \(command) 2>&1"], of: "/bin/sh")
        var text = ""
        while let line = try child.line() { text += line + "\n" }
        _ = try child.wait()
        #expect(text.components(of: "chmod 600") == 1, "\(text)")
      }
    }
  }

  extension String {
    /// How often a text occurs.
    fileprivate func components(of needle: String) -> Int {
      let (text, needle) = (Array(utf8), Array(needle.utf8))
      guard text.count >= needle.count else { return 0 }
      return (0...(text.count - needle.count)).count { at in
        text[at..<(at + needle.count)].elementsEqual(needle)
      }
    }
  }
#endif
