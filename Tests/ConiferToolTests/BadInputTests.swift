import ConiferKeyValue
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

@Suite struct BadInputTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("An argument that is no UTF-8 is refused, where it would be stored as something else")
  func argumentBytes() throws {
    let tool = try #require(Repository.tool)
    for text in ["c/\\377", "c/\\355\\240\\200"] {
      let child = try ChildProcess(
        [
          "-c", "exec \"$0\" doc set \"$(printf '\(text)')\" '{}' --enqueue --store \"$1\" 2>&1",
          tool,
          sandbox.url("sqlite"),
        ], of: "/bin/sh")
      var lines: [String] = []
      while let line = try child.line() { lines.append(line) }
      guard case .exited(let status) = try child.wait() else {
        Issue.record("The tool was killed.")
        continue
      }
      #expect(status == ToolStatus.usage.rawValue)
      #expect(lines.joined().contains("Argument 3 is not UTF-8"), "\(lines)")
    }
    #expect(!Platform.exists(sandbox.path("store")))
  }

  /// A file's text, and what the error must name.
  static let files: [(text: String, code: String, place: String)] = [
    ("{\"a\": 1,\n \"b\": }", "unexpected-byte", "line 2, column 7"),
    ("{\"a\": 1", "unexpected-end", "line 1, column 8"),
    ("", "empty", "line 1, column 1"),
    ("{} {}", "trailing-text", "line 1, column 4"),
    ("{\"a\": NaN}", "unexpected-byte", "line 1, column 7"),
    ("{\"a\": [1, 1e999]}", "number-out-of-range", "line 1, column 11"),
    ("{\"a\": {\n\"b.c\": 1}}", "invalid-key", "line 2, column 1"),
    ("{\"\": 1}", "invalid-key", "line 1, column 2"),
    ("{\"a\": {\".sv\": \"timestamp\", \"b\": 1}}", "invalid-server-value", "line 1"),
    ("{\"a\": {\".value\": 1, \"b\": 2}}", "invalid-value", "line 1"),
    ("{\"a\": {\".priority\": true, \"b\": 2}}", "invalid-priority", "line 1"),
    (
      String(repeating: "{\"k\":", count: 33) + "1" + String(repeating: "}", count: 33),
      "path-too-deep", "line 1"
    ),
    ("{\"\(String(repeating: "k", count: 769))\": 1}", "invalid-key", "line 1"),
    (
      "{\"\(String(repeating: "k", count: 500))\": {\"\(String(repeating: "k", count: 300))\": 1}}",
      "path-too-long", "line 1"
    ),
  ]

  @Test(
    "A file that cannot be stored names line and column, and nothing is stored", arguments: files)
  func badFile(text: String, code: String, place: String) async throws {
    let url = sandbox.url("lmdb")
    let file = try sandbox.file("bad.json", text)
    let output = await sandbox.run("import", file, store: url)
    #expect(output.status == .badData)
    #expect(output.notes.contains("\(code): \(place)"), "\(output.notes)")
    #expect(output.text.isEmpty)
    #expect(!Platform.exists(sandbox.path("store")))

    // Nor is anything lost that was there.
    #expect(await sandbox.run("set", "/", #"{"kept":1}"#, store: url).status == .success)
    let again = await sandbox.run("import", file, "--json", store: url)
    #expect(again.status == .badData)
    #expect(try Node(json: again.notes)[Path("error/code")] == Node(.string(code)))
    #expect(await sandbox.run("get", "/", "--json", store: url).line == #"{"kept":1}"#)
  }

  @Test("A string of 10 MiB is stored, one byte more is refused")
  func largeLeaf() async throws {
    let text = String(repeating: "x", count: Leaf.longest)
    let url = sandbox.url("sqlite")
    let fits = try sandbox.file("fits.json", "{\"a\":\"\(text)\"}")
    let over = try sandbox.file("over.json", "{\"a\":\"\(text)x\"}")
    #expect(await sandbox.run("import", fits, store: url).status == .success)
    let output = await sandbox.run("import", over, store: url)
    #expect(output.status == .badData)
    #expect(output.notes.contains("leaf-too-large"))
    #expect(await sandbox.run("set", "/b", "\"\(text)x\"", store: url).status == .badData)
    #expect(
      await sandbox.run("get", "/a", "--json", store: url).line.utf8.count == text.utf8.count + 2)
  }

  @Test(
    "A command that is invalid is refused with its code",
    arguments: [
      (["get", "/a.b"], ToolStatus.badData, "invalid-key"),
      (["set", "/a", "{"], .badData, "unexpected-end"),
      (["set", "/a/b$", "1"], .badData, "invalid-key"),
      (["set", "/.info/x", "1"], .badData, "invalid-key"),
      (["set", "/a/.priority", "true"], .badData, "invalid-priority"),
      (["update", "/a", "[1]"], .badData, "not-an-object"),
      (["update", "/a", #"{"b":1,"b/c":2}"#], .badData, "invalid-merge"),
      (["update", "/a", #"{"b":1} x"#], .badData, "trailing-text"),
      (["update", "/", #"{"":1}"#], .badData, "invalid-key"),
      (["update", "/", #"{"/":1}"#], .badData, "invalid-key"),
      (["set", "/a", "1", "--identity", "me"], .usage, "--enqueue"),
      (["query", "/", "--limit-to-first", "0"], .usage, "invalid-query"),
      (["query", "/", "--start-at", "{\"a\":1}"], .usage, "usage"),
      (["query", "/", "--equal-to", "blue"], .usage, "quotes"),
      (["import", "/nowhere.json"], .missing, "no-input"),
      (["import", "/"], .missing, "no-input"),
      (["frobnicate"], .usage, "frobnicate"),
      (["get", "/", "--store", "redis://x"], .usage, "sqlite, lmdb, log, memory"),
      (["get", "/", "--store", "lmdb:///x%00y"], .usage, "zero byte"),
      (["get", "/", "--store", "lmdb://x?colour=red"], .usage, "budget, compression"),
      (["get", "/", "--store", "lmdb://x?budget=1KB"], .usage, "1MB"),
      (["get", "/", "--store", "nothing"], .usage, "lmdb:///path"),
      (["get", "/", "--tree", "none"], .missing, "no-tree"),
      (["get", "/", "--store", "sqlite:///no/such/place"], .missing, "no-store"),
      (["queue", "show", "99"], .missing, "no-write"),
      (["demo", "--documents", "--store", "memory://"], .usage, "another backend"),
    ])
  func misuse(arguments: [String], status: ToolStatus, words: String) async throws {
    let url = sandbox.url("lmdb")
    #expect(await sandbox.run("set", "/kept", "1", store: url).status == .success)
    let output = await sandbox.run(arguments, store: url)
    #expect(output.status == status, "\(output)")
    #expect(output.notes.contains(words), "\(output.notes)")
    #expect(await sandbox.run("get", "/", "--json", store: url).line == #"{"kept":1}"#)
  }

  @Test("Without a store the tool says how to name one")
  func noStore() async throws {
    let output = await sandbox.run("get", "/")
    #expect(output.status == .usage)
    #expect(output.notes.contains("CONIFER_STORE"))
    #expect(await sandbox.run("--help").status == .success)
    #expect(await sandbox.run("import", "--help").text.contains("--merge"))
  }

  @Test("A store in use is refused and its owner named", arguments: persistentBackends)
  func busy(backend: String) async throws {
    try await sandbox.opened(backend) { store in
      let output = await sandbox.run("get", "/", store: store.url)
      #expect(output.status == .busy)
      #expect(output.notes.contains("busy:"))
      #expect(output.notes.contains(String(getpid())), "\(output.notes)")
    }
    #expect(await sandbox.run("get", "/", store: sandbox.url(backend)).status == .success)
  }

  @Test(
    "A store that may not be read is refused", .enabled(if: getuid() != 0, "The superuser may."))
  func denied() async throws {
    let url = sandbox.url("lmdb")
    #expect(await sandbox.run("set", "/a", "1", store: url).status == .success)
    #expect(chmod(sandbox.path("store"), 0) == 0)
    let output = await sandbox.run("get", "/", store: url)
    #expect(chmod(sandbox.path("store"), 0o700) == 0)
    #expect(output.status == .denied)
    #expect(await sandbox.run("get", "/a", store: url).line == "1")
  }

  // MARK: Files that are not what they were

  private static let dataFile = [
    "lmdb": "data.mdb", "sqlite": "conifer.sqlite", "log": "0000000000000001.segment",
  ]

  /// Makes a store with some data and closes it, changes its file, and returns its URL.
  private func changed(
    _ backend: String, options: String = "", messages: Int = 300, reports: Int = 0,
    _ change: (inout [UInt8]) throws -> Void
  ) async throws -> String {
    let url = sandbox.url(backend) + options
    let chat = ChatGenerator(rooms: 1, messages: messages).room(0)
    let file = try sandbox.file("chat.json", chat.json(.export))
    #expect(await sandbox.run("import", file, "--path", "/chat", store: url).status == .success)
    #expect(await sandbox.run("set", "/q", "1", "--enqueue", store: url).status == .success)
    if reports > 0 {
      try await StoreOptions.opened(
        Tool.registry.configuration(url, defaults: StorageOptions(budget: nil))
      ) { store in
        let tree = try await store.tree(named: "main")
        let report = Incident(kind: .cacheRangeDropped, tree: tree, place: "before", bytes: [])
        try await store.commit([StorageEdit](repeating: .report(report), count: reports))
      }
    }
    let name = try #require(Self.dataFile[backend])
    let path = "store/\(name)"
    var bytes = try contents(sandbox.path(path))
    try change(&bytes)
    _ = try sandbox.file(path, bytes)
    return url
  }

  @Test("A foreign file is refused and left as it is", arguments: knownBackends)
  func foreign(backend: String) async throws {
    let text = Array(String(repeating: "This is a letter to my aunt.\n", count: 2000).utf8)
    let url = try await changed(backend) { $0 = text }
    let output = await sandbox.run("get", "/", store: url)
    #expect(output.status == .foreign, "\(output.notes)")
    #expect(output.notes.contains("foreign:"))
    #expect(try contents(sandbox.path("store/\(Self.dataFile[backend] ?? "")")) == text)
  }

  @Test("A cut file is refused as damaged and left as it is", arguments: knownBackends)
  func truncated(backend: String) async throws {
    var cut: [UInt8] = []
    let url = try await changed(backend) { bytes in
      bytes.removeLast(bytes.count / 2)
      cut = bytes
    }
    let output = await sandbox.run("export", sandbox.path("out.json"), store: url)
    #expect(output.status == .damaged, "\(output.notes)")
    #expect(try contents(sandbox.path("store/\(Self.dataFile[backend] ?? "")")) == cut)
  }

  @Test("A newer format is refused and left as it is", arguments: knownBackends)
  func newer(backend: String) async throws {
    let url = try await changed(backend) { bytes in
      if backend == "sqlite" {
        // The user version in SQLite's header.
        bytes[63] = 99
      } else if backend == "log" {
        // The format in the header of a segment, and the header's checksum.
        bytes[8] = 99
        let sum = XXHash64.hash(Array(bytes[..<56]))
        for i in 0..<8 { bytes[56 + i] = UInt8(truncatingIfNeeded: sum >> (8 * i)) }
      } else {
        let magic = Array("Conifer LMDB".utf8)
        for start in bytes.indices.dropLast(magic.count + 4)
        where bytes[start] == magic[0] && bytes[start...].starts(with: magic) {
          bytes[start + magic.count] = 99
        }
      }
    }
    let output = await sandbox.run("get", "/", store: url)
    #expect(output.status == .foreign, "\(output.notes)")
    #expect(output.notes.contains("newer-format:"), "\(output.notes)")
  }

  @Test(
    "A flipped bit costs a cache the range and an authority the reading, never the queue",
    arguments: knownBackends, ["cache", "authority"])
  func flipped(backend: String, role: String) async throws {
    // As many reports as a tree keeps are there already.
    let url = try await changed(
      backend, options: "?compression=none&role=\(role)", reports: 256
    ) { bytes in
      // A word of the generated chat, as it stands in an uncompressed run.
      let word = Array("neighbour".utf8)
      let place = bytes.indices.dropLast(word.count).first {
        bytes[$0] == word[0] && bytes[$0...].starts(with: word)
      }
      bytes[try #require(place)] ^= 0x20
    }
    let output = await sandbox.run("get", "/chat", store: url)
    if role == "authority" {
      #expect(output.status == .damaged, "\(output.notes)")
      #expect(output.notes.contains("damaged:"))
    } else {
      #expect(output.status == .success, "\(output.notes)")
      #expect(output.notes.contains("damaged: 1 damaged records were set aside"), "\(output.notes)")
      let stats = try Node(json: await sandbox.run("stats", "--json", store: url).line)
      #expect(stats[Path("incidents")].childCount > 0)
      let queries = await sandbox.run("queries", "--incomplete", "--json", store: url)
      #expect(queries.line.contains("/chat"), "\(queries.line)")
    }
    #expect(await sandbox.run("queue", "list", store: url).text.contains("1 waiting"))
  }

  @Test(
    "An export that meets damage in its midst is whole in a file and cut, with an error, elsewhere",
    arguments: knownBackends, [true, false])
  func damagedExport(backend: String, toFile: Bool) async throws {
    let url = try await changed(backend, options: "?compression=none", messages: 3000) { bytes in
      let word = Array("neighbour".utf8)
      let place = bytes.indices.dropLast(word.count).last {
        bytes[$0] == word[0] && bytes[$0...].starts(with: word)
      }
      bytes[try #require(place)] ^= 0x20
    }
    let file = sandbox.path("out.json")
    let first = await sandbox.run(toFile ? ["export", file] : ["export"], store: url)
    let again = await sandbox.run("export", store: url)
    #expect(again.status == .success)
    #expect(try Node(json: again.text)[Path("/chat")].childCount > 1000)
    if toFile {
      #expect(first.status == .success, "\(first.notes)")
      #expect(try contents(file) == Array(again.text.utf8))
    } else if first.status == .success {
      // Where the file keeps the damaged run is the engine's affair: it was met before any part was
      // written.
      #expect(first.text == again.text)
    } else {
      #expect(first.status == .damaged)
      #expect(first.notes.contains("Export again"), "\(first.notes)")
    }
  }
}
