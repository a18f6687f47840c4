import ConiferDocument
import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

@Suite struct DocCommandTests {
  let sandbox: Sandbox
  static let tree = "projects/p/databases/(default)"

  init() throws { sandbox = try Sandbox() }

  func doc(_ arguments: String..., backend: String = "lmdb") async -> Sandbox.Output {
    await sandbox.run(
      ["doc", arguments[0], "--tree", Self.tree] + arguments.dropFirst(),
      store: sandbox.url(backend))
  }

  @Test("Documents are set, merged, updated, shown and deleted", arguments: persistentBackends)
  func writes(backend: String) async throws {
    func run(_ arguments: String...) async -> Sandbox.Output {
      await sandbox.run(
        ["doc"] + arguments + ["--tree", Self.tree], store: sandbox.url(backend))
    }
    let set = await run("set", "rooms/eros", #"{"name": "Eros", "at": {"floor": 2}, "n": 1.0}"#)
    #expect(set.status == .success && set.line == "set rooms/eros", "\(set.notes)")
    #expect(
      await run("get", "rooms/eros", "--json").line
        == #"{"at":{"floor":2},"n":1.0,"name":"Eros"}"#)
    #expect(
      await run("set", "rooms/eros", #"{"at": {"wing": "b"}}"#, "--merge").status == .success)
    let update = await run(
      "update", "rooms/eros", #"{"at.floor": 3, "tags": ["a"]}"#, "--delete", "name")
    #expect(update.line == "update rooms/eros: 3 fields", "\(update.notes)")
    #expect(
      await run("get", "rooms/eros", "--json").line
        == #"{"at":{"floor":3,"wing":"b"},"n":1.0,"tags":["a"]}"#)
    let typed = await run("get", "/rooms/eros/", "--json", "--typed").line
    #expect(
      typed.hasPrefix(
        #"{"name":"projects/p/databases/(default)/documents/rooms/eros","fields":{"at":{"mapValue""#
      ))
    #expect(await run("set", "rooms/two", typed, "--typed").status == .badData)
    #expect(await run("set", "rooms/eros", typed, "--typed").status == .success)
    #expect(await run("get", "rooms/eros").text.hasPrefix("{\n  \"at\": {\n"))
    #expect(await run("delete", "rooms/eros").line == "delete rooms/eros")
    let gone = await run("get", "rooms/eros")
    #expect(
      gone.status == .missing && gone.notes.contains("no-document: rooms/eros does not exist"))
    #expect(await run("update", "rooms/eros", #"{"n": 1}"#).status == .missing)
    let unseen = await run("update", "rooms/none", #"{"n": 1}"#)
    #expect(unseen.status == .missing && unseen.notes.contains("no-document"))
    #expect(await run("set", "rooms/typed", #"{"a": 1}"#, "--json").line == #"{"ok":true}"#)
  }

  @Test("A document whose fields are not known is replaced whole or not at all")
  func unknown() async throws {
    let path = try DocumentPath("rooms/eros")
    let backend = try Tool.registry.configuration(sandbox.url("lmdb")).open()
    let tree = try await backend.tree(named: Self.tree, order: .documents)
    let version = try Timestamp(seconds: 5)
    try await backend.commit([
      .documents(tree, [.put(Document(path, .unknown, version: version))])
    ])
    try await backend.close()
    for arguments in [
      ["set", "rooms/eros", #"{"n": 1}"#, "--merge"], ["update", "rooms/eros", #"{"n": 1}"#],
    ] {
      let refused = await sandbox.run(
        ["doc", arguments[0], "--tree", Self.tree] + arguments.dropFirst(),
        store: sandbox.url("lmdb"))
      #expect(refused.status == .missing && refused.notes.contains("unknown-fields"))
    }
    #expect(await doc("set", "rooms/eros", #"{"n": 1}"#).status == .success)
  }

  @Test("Writes are queued in a lane, which shows them, and the cache stays")
  func queued() async throws {
    #expect(await doc("set", "rooms/eros", #"{"n": 1}"#).status == .success)
    let queued = await doc(
      "update", "rooms/eros", #"{"n": 2}"#, "--enqueue", "--identity", "ann")
    #expect(queued.line == "queued as write 1: update rooms/eros: 1 fields", "\(queued.notes)")
    #expect(await doc("get", "rooms/eros", "--json").line == #"{"n":1}"#)
    #expect(await doc("get", "rooms/eros", "--json", "--identity", "ann").line == #"{"n":2}"#)
    let seen = await doc("query", "rooms", "--where", "n == 2", "--identity", "ann", "--explain")
    #expect(seen.line == #"rooms/eros  {"n":2}"#)
    #expect(seen.notes.contains("laid over 1 documents"))
    #expect(await doc("query", "rooms", "--where", "n == 2").text == "")
  }

  @Test("Queries select, order, cut and count, and tell how they were answered")
  func queries() async throws {
    let root = "\(Self.tree)/documents"
    let lines = (1...6).map { n in
      #""n": {"integerValue": \#(n)}, "tags": {"arrayValue": {"values": [{"stringValue": "t\#(n % 3)"}]}}, "even": {"booleanValue": \#(n.isMultiple(of: 2))}"#
    }
    let file = try sandbox.file(
      "rooms.jsonl",
      (1...6).flatMap { n in
        [
          #"{"name": "\#(root)/rooms/r\#(n)", "fields": {\#(lines[n - 1])}}"#,
          #"{"name": "\#(root)/rooms/r\#(n)/seats/s\#(n)", "fields": {"n": {"integerValue": \#(n)}}}"#,
        ]
      }.joined(separator: "\n"))
    #expect(await doc("import", file).status == .success)
    func ids(_ arguments: String...) async -> String {
      let output = await sandbox.run(
        ["doc", "query"] + arguments + ["--tree", Self.tree], store: sandbox.url("lmdb"))
      return output.text.split(separator: "\n").map { $0.split(separator: " ")[0].dropFirst(6) }
        .joined(separator: " ") + output.notes.prefix { $0 != ":" }
    }
    #expect(await ids("rooms", "--where", "n > 2", "--where", "even == true") == "r4 r6")
    #expect(await ids("rooms", "--where", #"tags array-contains "t1""#) == "r1 r4")
    #expect(await ids("rooms", "--where", "n in [1, 6]") == "r1 r6")
    #expect(await ids("rooms", "--where", #"__name__ == "r2""#) == "r2")
    #expect(await ids("rooms", "--order-by", "n:desc", "--limit", "2") == "r6 r5")
    #expect(await ids("rooms", "--order-by", "n", "--limit-to-last", "2") == "r5 r6")
    #expect(
      await ids("rooms", "--order-by", "n", "--start-after", "2", "--end-before", "5") == "r3 r4")
    #expect(
      await ids(
        "rooms", "--order-by", "even", "--order-by", "n", "--start-at", "true", "--start-at", "4")
        == "r4 r6")
    #expect(await ids("rooms", "--order-by", "n", "--end-at", "-1") == "no document matches\n")
    #expect(
      await ids("seats", "--group", "--where", "n < 3") == "r1/seats/s1 r2/seats/s2")
    let typed = await doc(
      "query", "rooms", "--typed", "--where", #"n == {"integerValue": "3"}"#)
    #expect(
      typed.line.hasPrefix(
        #"{"name":"projects/p/databases/(default)/documents/rooms/r3","fields":{"even":"#),
      "\(typed.notes)")

    let numbers = await doc("query", "rooms", "--count", "--sum", "n", "--average", "n", "--json")
    #expect(numbers.line == #"{"count":6,"sum n":21,"average n":3.5}"#)
    #expect(await doc("query", "rooms", "--count").line == "count  6")
    let repeated = ["--sum", "n", "--sum", "`n`", "--average", "n", "--average", "n"]
    let once = await sandbox.run(
      ["doc", "query", "rooms", "--tree", Self.tree] + repeated, store: sandbox.url("lmdb"))
    #expect(once.text == "sum n      21\naverage n  3.5\n")
    #expect(await doc("query", "rooms", "--order-by", "`n:up`").text.isEmpty)
    let json = await doc("query", "rooms", "--where", "n == 1", "--json").line
    #expect(json == #"[{"path":"rooms/r1","fields":{"even":false,"n":1,"tags":["t1"]}}]"#)

    let query = ["--where", "even == true", "--order-by", "n", "--explain"]
    let before = await doc("query", "rooms", query[0], query[1], query[2], query[3], query[4])
    #expect(before.notes.contains("every document of 1 collection\n"), "\(before.notes)")
    #expect(before.notes.contains("documents read     6\ndocuments decoded  3\n"))
    #expect(before.notes.contains("declare the index rooms on even ascending, n ascending"))
    // The hint is a file of indexes as it stands.
    let brace = try #require(before.notes.firstIndex(of: "{"))
    let hint = try sandbox.file("indexes.json", String(before.notes[brace...]))
    #expect(await doc("indexes").line == "no index is declared")
    let declared = await doc("indexes", "--set", hint, "--build", "--json")
    #expect(
      declared.line.contains(#""fields":"even ascending, n ascending","ready":true,"rows":6"#),
      "\(declared.line)\(declared.notes)")
    let after = await doc("query", "rooms", query[0], query[1], query[2], query[3], query[4])
    #expect(after.text == before.text)
    #expect(after.notes.contains("rooms on even ascending, n ascending"), "\(after.notes)")
    #expect(after.notes.contains("index rows read    3") && !after.notes.contains("hint"))
    #expect(
      await doc("indexes").text.contains(
        "rooms       collection  even ascending, n ascending  ready"))
  }

  @Test("A query is told why it can have no index")
  func obstacle() async throws {
    let collection = "a/\(String(repeating: "b", count: 200))/c"
    #expect(await doc("set", "\(collection)/d", #"{"n": 1}"#).status == .success)
    let notes = await doc("query", collection, "--where", "n == 1", "--explain").notes
    #expect(
      notes.contains("no index           the path of the collection takes 209 bytes"), "\(notes)")
    #expect(!notes.contains("hint"))
    #expect(!(await doc("query", collection, "--explain").notes.contains("no index")))
  }

  @Test("Only set and import make a store, and a tree holds nodes or documents")
  func places() async throws {
    let url = sandbox.url("lmdb")
    for command in [
      ["get", "a/b"], ["update", "a/b", "{\"n\": 1}"], ["delete", "a/b"], ["query", "a"],
      ["export"], ["indexes"],
    ] {
      let output = await sandbox.run(["doc"] + command, store: url)
      #expect(output.status == .missing && output.notes.hasPrefix("conifer: no-store"))
    }
    #expect(!Platform.exists(sandbox.path("store")))
    #expect(await sandbox.run("set", "/a", "1", store: url).status == .success)
    for command in [["get", "a/b"], ["set", "a/b", "{}"], ["query", "a"]] {
      let output = await sandbox.run(["doc"] + command, store: url)
      #expect(output.status == .usage)
      #expect(
        output.notes.contains("holds nodes, not documents") && output.notes.contains("--tree"),
        "\(output.notes)")
    }
    #expect(await doc("set", "a/b", "{}").status == .success)
    for command in [["get", "/a"], ["set", "/a", "1"], ["query", "/a"], ["export"], ["index"]] {
      let output = await sandbox.run(
        [command[0], "--tree", Self.tree] + command.dropFirst(), store: url)
      #expect(output.status == .usage && output.notes.contains("conifer doc"), "\(output.notes)")
    }
    #expect(await sandbox.run("get", "/a", store: url).line == "1")
    let other = await sandbox.run("doc", "set", "a/b", "{}", "--tree", "a/b", store: url)
    #expect(other.status == .usage && other.notes.contains("--database"))
  }

  /// Documents in the canonical text: each kind of value, edges of ranges, names that sort in their own way.
  static let canonical: [String] = {
    let root = "projects/p/databases/(default)/documents"
    let values = [
      #"{"nullValue":null}"#, #"{"booleanValue":true}"#,
      #"{"integerValue":"-9223372036854775808"}"#, #"{"doubleValue":"NaN"}"#,
      #"{"doubleValue":"-Infinity"}"#, #"{"doubleValue":-0}"#, #"{"doubleValue":3}"#,
      #"{"doubleValue":2.5}"#, "{\"stringValue\":\"\\u0000\\\"\u{10000}\"}",
      #"{"bytesValue":""}"#, #"{"bytesValue":"AP8="}"#, #"{"arrayValue":{}}"#, #"{"mapValue":{}}"#,
      #"{"arrayValue":{"values":[{"integerValue":"1"},{"mapValue":{"fields":{"a":{"arrayValue":{}}}}}]}}"#,
      #"{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},"value":{"arrayValue":{"values":[{"doubleValue":1},{"doubleValue":-2.5}]}}}}}"#,
    ]
    let all = values.enumerated().map { #""v\#($0 + 10)":\#($1)"# }
    return [
      #"{"name":"\#(root)/all/__id-7__","fields":{"e\#u{301}":{"stringValue":"two"},"é":{"integerValue":"9223372036854775807"}}}"#,
      #"{"name":"\#(root)/all/__id7__"}"#,
      #"{"name":"\#(root)/all/a","fields":{\#(all.joined(separator: ","))},"updateTime":"2026-11-24T01:20:30.000000001Z"}"#,
      #"{"name":"\#(root)/all/a b.c","fields":{"g":{"geoPointValue":{"latitude":-90,"longitude":180}},"r":{"referenceValue":"\#(root)/all/a"},"t":{"timestampValue":"9999-12-31T23:59:59.999999Z"},"u":{"timestampValue":"0001-01-01T00:00:00Z"}},"createTime":"2026-11-23T01:20:30.000000001Z","updateTime":"2026-11-24T01:20:30Z"}"#,
      #"{"name":"\#(root)/all/a/below/\#u{10000}","fields":{"n":{"doubleValue":"Infinity"}},"updateTime":"2026-11-24T01:20:30.120Z"}"#,
      #"{"name":"\#(root)/other/x","fields":{"n":{"integerValue":"1"}},"updateTime":"1970-01-01T00:00:01Z"}"#,
    ]
  }()

  @Test(
    "What was imported is exported as the same bytes, from lines and from an array",
    arguments: persistentBackends)
  func roundTrip(backend: String) async throws {
    // One time for those that tell none, so that they have one in the output.
    let lines = Self.canonical.map { line in
      line.contains("updateTime")
        ? line : String(line.dropLast()) + #","updateTime":"2026-01-01T00:00:00Z"}"#
    }
    let text = lines.joined(separator: "\n") + "\n"
    let file = try sandbox.file("documents.jsonl", text)
    let url = sandbox.url(backend)
    let tree = ["--tree", Self.tree]
    let imported = await sandbox.run(["doc", "import", file] + tree, store: url)
    #expect(imported.line.hasPrefix("imported 6 documents"), "\(imported.notes)")
    let exported = await sandbox.run(["doc", "export"] + tree, store: url)
    #expect(exported.text == text)

    let array = sandbox.path("array.json")
    #expect(
      await sandbox.run(["doc", "export", "--array", "--output", array] + tree, store: url).status
        == .success)
    let again = sandbox.url(backend, "again")
    #expect(
      await sandbox.run(["doc", "import", array, "--json"] + tree, store: again).line
        .hasPrefix(#"{"documents":6,"#))
    #expect(await sandbox.run(["doc", "export"] + tree, store: again).text == text)
    let some = await sandbox.run(["doc", "export", "all/a/below"] + tree, store: again)
    #expect(some.text == lines[4] + "\n")
    #expect(
      await sandbox.run(["doc", "export", "all"] + tree, store: again).text.split(separator: "\n")
        .count == 5)
  }

  @Test("20,000 documents are streamed, in commits of some hundreds")
  func many() async throws {
    let root = "\(Self.tree)/documents"
    let lines = (0..<20_000).map { n in
      let id = String(100_000 + n)
      return
        #"{"name":"\#(root)/rooms/r\#(id)","fields":{"n":{"integerValue":"\#(n)"},"text":{"stringValue":"the document number \#(n)"}},"updateTime":"2026-01-01T00:00:00Z"}"#
    }
    let text = lines.joined(separator: "\n") + "\n"
    let file = try sandbox.file("many.jsonl", text)
    #expect(await doc("import", file).line.hasPrefix("imported 20,000 documents"))
    #expect(
      await doc("query", "rooms", "--count", "--sum", "n").text
        == "count  20000\nsum n  199990000\n")
    #expect(await doc("export").text == text)
  }

  @Test("Standard input is imported too, in a process of its own")
  func piped() async throws {
    let tool = try #require(Repository.tool)
    let file = try sandbox.file("documents.jsonl", Self.canonical.joined(separator: "\r\n\n"))
    let command =
      "'\(tool)' doc import - --tree '\(Self.tree)' --store '\(sandbox.url("lmdb"))'"
    let child = try ChildProcess(["-c", "cat '\(file)' | \(command)"], of: "/bin/sh")
    #expect(try child.line()?.hasPrefix("imported 6 documents") == true)
    guard case .exited(0) = try child.wait() else { return #expect(Bool(false)) }
    #expect(await doc("query", "all", "--count").line == "count  4")
  }
}
