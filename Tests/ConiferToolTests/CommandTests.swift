import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

@Suite struct CommandTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("What is set, updated and removed is what get prints", arguments: persistentBackends)
  func edits(backend: String) async throws {
    let url = sandbox.url(backend)
    #expect(await sandbox.run("set", "/a/b", #"{"c":1,"d":"x"}"#, store: url).status == .success)
    #expect(
      await sandbox.run("update", "/a", #"{"b/c":2,"e":[true],"b/d":null}"#, store: url).status
        == .success)
    #expect(await sandbox.run("set", "/a/b/.priority", "7", "--store", url).status == .success)
    let all = await sandbox.run("get", "/", "--json", "--store", url)
    #expect(all.line == #"{"a":{"b":{".priority":7,"c":2},"e":{"0":true}}}"#)
    #expect(
      await sandbox.run("get", "/a", "--plain", "--json", store: url).line
        == #"{"b":{"c":2},"e":[true]}"#)
    #expect(
      await sandbox.run("get", "/a", "--shallow", "--json", store: url).line
        == #"{"b":true,"e":true}"#)
    #expect(await sandbox.run("remove", "/a/b", store: url).status == .success)
    #expect(await sandbox.run("get", "/a", "--json", store: url).line == #"{"e":{"0":true}}"#)
    #expect(await sandbox.run("get", "/nothing", store: url).line == "null")
    #expect(await sandbox.run("set", "/n", store: url).status == .usage)
    #expect(await sandbox.run("set", "/n", "--", "-5", store: url).status == .success)
    #expect(await sandbox.run("get", "/n", store: url).line == "-5")
  }

  @Test("A query gives children in its order", arguments: persistentBackends)
  func queries(backend: String) async throws {
    let url = sandbox.url(backend)
    let dinosaurs = Repository.root + "/Examples/Data/dinosaurs.json"
    #expect(await sandbox.run("import", dinosaurs, store: url).status == .success)
    let tallest = await sandbox.run(
      "query", "/dinosaurs", "--order-by-child", "height", "--limit-to-last", "2", store: url)
    #expect(tallest.text.split(separator: "\n").map { $0.prefix(8) } == ["stegosau", "bruhathk"])
    let scores = await sandbox.run(
      "query", "/scores", "--order-by-value", "--start-at", "50", "--end-before", "93", "--json",
      store: url)
    #expect(
      scores.line
        == #"[{"key":"bruhathkayosaurus","value":55},{"key":"linhenykus","value":80}]"#)
    let keys = await sandbox.run(
      "query", "/scores", "--order-by-key", "--start-after", "l", "--limit-to-first", "1", "--json",
      store: url)
    #expect(keys.line == #"[{"key":"lambeosaurus","value":21}]"#)
    let exclusive = await sandbox.run(
      "query", "/scores", "--order-by-key", "--end-before", "stegosaurus", "--limit-to-last", "1",
      "--json", store: url)
    #expect(exclusive.line == #"[{"key":"pterodactyl","value":93}]"#)
    let twice = await sandbox.run(
      "query", "/scores", "--order-by-key", "--order-by-value", store: url)
    #expect(twice.status == .usage)
    #expect(twice.notes.contains("invalid-query"))
  }

  @Test("Pins are listed until they are taken away", arguments: persistentBackends)
  func pins(backend: String) async throws {
    let url = sandbox.url(backend)
    #expect(await sandbox.run("pin", "/a/b", store: url).status == .missing)
    #expect(await sandbox.run("set", "/a", "1", store: url).status == .success)
    #expect(await sandbox.run("pin", "/a/b", store: url).status == .success)
    #expect(await sandbox.run("pin", "a//b/", store: url).status == .success)
    #expect(
      await sandbox.run("pins", "--json", store: url).line
        == #"[{"path":"/a/b","parameters":"default"}]"#)
    #expect(await sandbox.run("unpin", "/a/b", store: url).status == .success)
    #expect(await sandbox.run("pins", "--json", store: url).line == "[]")
    #expect(await sandbox.run("unpin", "/a/b", store: url).status == .missing)
  }

  @Test(
    "An eviction takes what no query covers, then the oldest query, and never what is pinned",
    arguments: persistentBackends)
  func evictions(backend: String) async throws {
    let url = sandbox.url(backend)
    let long = String(repeating: "never the same ", count: 400)
    let rooms = (0..<8).map { "\"r\($0)\":{\"t\":\"\($0)\(long)\"}" }.joined(separator: ",")
    let file = try sandbox.file("rooms.json", "{\(rooms)}")
    #expect(await sandbox.run("import", file, store: url).status == .success)
    #expect(await sandbox.run("set", "/stray", "1", store: url).status == .success)
    #expect(await sandbox.run("pin", "/r0", store: url).status == .success)
    let explained = try Node(json: await sandbox.run("explain", "/r1", "--json", store: url).line)
    #expect(explained[Key("fate")] == "after-queries" && explained[Key("before")] == 0)
    #expect(explained[Path("reasons/0/kind")] == "tracked")
    #expect(await sandbox.run("explain", "/stray", store: url).text.contains("first"))
    #expect(await sandbox.run("explain", "/r0", store: url).text.contains("pinned at /r0"))
    let dry = try Node(
      json: await sandbox.run("evict", "--to", "0", "--dry-run", "--json", store: url).line)
    #expect(dry[Key("dryRun")] == true && dry[Key("queries")].childCount == 7)
    #expect(await sandbox.run("get", "/stray", store: url).line == "1")
    let done = await sandbox.run("evict", "--to", "0", store: url)
    #expect(done.text.contains("queries that went") && done.text.contains("The rest stays"))
    #expect(
      await sandbox.run("get", "/", "--shallow", store: url).line.contains("r0"))
    #expect(await sandbox.run("get", "/r1", store: url).line == "null")
    #expect(await sandbox.run("get", "/stray", store: url).line == "null")
    #expect(await sandbox.run("evict", store: url).status == .usage)
    #expect(await sandbox.run("evict", "--to", "many", store: url).status == .usage)
    #expect(await sandbox.run("evict", store: url + "?budget=1MB").status == .success)
    let authority = await sandbox.run("evict", "--to", "1MB", store: url + "?role=authority")
    #expect(authority.status == .usage && authority.notes.contains("authority"))
  }

  @Test(
    "An import over the budget ends under it, and nothing that went counts as complete",
    arguments: persistentBackends)
  func budget(backend: String) async throws {
    let url = sandbox.url(backend) + "?budget=1MB"
    let long = String(repeating: "never the same ", count: 20)
    let rooms = Node(
      children: (0..<60).map { room in
        let list = (0..<100).map { index -> (Key, Node) in
          var random = SplitMix64(seed: UInt64(room * 1000 + index))
          return (Key("m\(index)"), Node(.string("\(random.next()) \(random.next()) \(long)")))
        }
        return (Key("r\(room)"), Node(children: list))
      })
    let file = try sandbox.file("rooms.json", rooms.json(.export))
    let done = await sandbox.run("import", file, store: url + "&compression=none")
    #expect(done.status == .success, "\(done.notes)")
    try await sandbox.opened(backend) { store in
      let space = try store.backend.evicting().space()
      #expect(space.cache < 1 << 20 && space.cache > 1 << 19, "\(space)")
      try store.backend.inspect { view in
        for room in 0..<60 {
          let path = Path("r\(room)")
          let isComplete = try view.isComplete(store.tree, path)
          let node = try view.node(store.tree, path)
          #expect(isComplete == (node == rooms[Key("r\(room)")]), "\(path)")
          #expect(isComplete || node.isEmpty)
        }
      }
    }
  }

  @Test("Tidying a damaged cache goes on without what is damaged, and says so")
  func tidyingDamage() async throws {
    let url = sandbox.url("log")
    let chat = ChatGenerator(rooms: 60, messages: 200)
    let rooms = Node(children: (0..<chat.rooms).map { (chat.key($0), chat.room($0)) })
    let file = try sandbox.file("rooms.json", rooms.json(.export))
    #expect(await sandbox.run("import", file, store: url).status == .success)
    let segment = sandbox.path("store/0000000000000001.segment")
    var bytes = try contents(segment)
    bytes[bytes.count / 3] ^= 0x55
    _ = try sandbox.file("store/0000000000000001.segment", bytes)
    let tidied = await sandbox.run("tidy", store: url + "?role=cache")
    #expect(tidied.status == .success && tidied.notes.contains("set aside"), "\(tidied.notes)")
    let queries = await sandbox.run("queries", "--incomplete", "--json", store: url)
    #expect(queries.line != "[]")
    #expect(await sandbox.run("tidy", store: url + "?role=cache").notes.isEmpty)
  }

  @Test("Tidying leaves the data and less of everything else", arguments: persistentBackends)
  func tidying(backend: String) async throws {
    let url = sandbox.url(backend)
    let chat = ChatGenerator(rooms: 60, messages: 200)
    let rooms = Node(children: (0..<chat.rooms).map { (chat.key($0), chat.room($0)) })
    let file = try sandbox.file("rooms.json", rooms.json(.export))
    #expect(await sandbox.run("import", file, store: url).status == .success)
    let tidied = try Node(json: await sandbox.run("tidy", "--json", store: url).line)
    let before = try #require(tidied[Path("before/records")].leaf?.number)
    let after = try #require(tidied[Path("after/records")].leaf?.number)
    #expect(after < before * 0.95)
    let stats = try Node(json: await sandbox.run("stats", "--json", store: url).line)
    #expect((stats[Path("bytes/dictionaries")].leaf?.number ?? 0) > 0, "\(stats)")
    #expect(try Node(json: await sandbox.run("get", "/", store: url).line) == rooms)
    #expect(await sandbox.run("tidy", store: url).text.contains("records"))
  }

  @Test(
    "A queued write is listed, shown and discarded, and the cache stays",
    arguments: persistentBackends)
  func queue(backend: String) async throws {
    let url = sandbox.url(backend)
    let first = await sandbox.run(
      "set", "/a", #"{"x":{".sv":"timestamp"}}"#, "--enqueue", "--identity", "ada", "--json",
      store: url)
    #expect(first.line == #"{"ok":true,"write":1}"#)
    let second = await sandbox.run(
      "update", "/b", #"{"c/d":1,"e":null}"#, "--enqueue", "--json", store: url)
    #expect(second.line == #"{"ok":true,"write":1}"#)
    #expect(await sandbox.run("get", "/", store: url).line == "null")
    let shown = await sandbox.run("queue", "show", "1", "--identity", "ada", "--json", store: url)
    #expect(shown.line.contains(#"{"path":"/a","value":{"x":{".sv":"timestamp"}}}"#))
    #expect(shown.line.contains(#""state":"queued""#))
    let list = await sandbox.run("queue", "list", "--json", store: url)
    #expect(list.line.contains(#""identity":"ada","pending":1"#))
    #expect(await sandbox.run("queue", "retry", "1", store: url).status == .usage)
    #expect(await sandbox.run("queue", "discard", "1", store: url).status == .success)
    let gone = await sandbox.run("queue", "show", "1", store: url)
    #expect(gone.status == .missing)
    #expect(gone.notes.contains("discarded"))
    #expect(await sandbox.run("queue", "list", store: url).text.contains("ada: 1 waiting"))
  }

  @Test("A rejected write can be queued again", arguments: persistentBackends)
  func retries(backend: String) async throws {
    let url = sandbox.url(backend)
    #expect(await sandbox.run("remove", "/a", "--enqueue", store: url).status == .success)
    try await sandbox.opened(backend) { store in
      let lane = Lane(tree: store.tree)
      let id = WriteID(rawValue: 1)
      try await store.backend.commit([.setState(lane, id, .sent)])
      try await store.backend.commit([.setState(lane, id, .rejected(reason: "permission_denied"))])
    }
    let list = await sandbox.run("queue", "list", "--json", store: url)
    #expect(list.line.contains(#""reason":"permission_denied""#))
    #expect(await sandbox.run("queue", "retry", "1", store: url).status == .success)
    #expect(await sandbox.run("queue", "list", store: url).text.contains("1 waiting, 0 rejected"))
  }

  @Test("Stats tell ratio and dictionaries by kind", arguments: persistentBackends)
  func kinds(backend: String) async throws {
    let url = sandbox.url(backend)
    let chat = await sandbox.run("demo-chat", "--rooms", "12", "--messages", "400")
    let file = try sandbox.file("chat.json", chat.text)
    #expect(await sandbox.run("import", file, store: url).status == .success)
    try await sandbox.opened(backend) { store in
      while try await store.backend.tidy(.seconds(1)) {}
    }
    let stats = try Node(json: await sandbox.run("stats", "--json", store: url).line)
    func number(_ path: String) -> Double { stats[Path(path)].leaf?.number ?? 0 }
    #expect(number("dictionaries") == 1)
    #expect(number("bytes/dictionaries") > 4096)
    #expect(number("kinds/runs/raw") == number("bytes/rawCache"))
    #expect(number("kinds/runs/bytes") == number("bytes/cache"))
    #expect(number("kinds/runs/ratio") > number("ratio"))
    #expect(stats[Path("kinds/deltas/ratio")].isEmpty)
    let text = await sandbox.run("stats", store: url).text
    #expect(text.contains("dictionaries") && text.contains("in 1, for runs and deltas"), "\(text)")
  }

  @Test("Stats, trees and queries tell what is stored", arguments: persistentBackends)
  func figures(backend: String) async throws {
    let url = sandbox.url(backend) + "?compression=none&durability=process"
    let file = try sandbox.file("f.json", #"{"a":{"b":1,"c":"two"}}"#)
    let loaded = await sandbox.run("import", file, "--json", "--tree", "one", store: url)
    #expect(loaded.status == .success)
    #expect(try Node(json: loaded.line)[Key("leaves")] == 2)
    let stats = try Node(json: await sandbox.run("stats", "--json", store: url).line)
    #expect(stats[Key("backend")] == Node(.string(backend)))
    #expect(stats[Key("leaves")] == 2)
    #expect(stats[Key("durability")] == "process")
    #expect(stats[Key("budget")].isEmpty)
    #expect((stats[Path("bytes/cache")].leaf?.number ?? 0) > 0)
    #expect(await sandbox.run("stats", store: url).text.contains("compression"))
    let trees = try Node(json: await sandbox.run("trees", "--json", store: url).line)
    #expect(trees[Path("0/name")] == "one")
    #expect(
      await sandbox.run("queries", "--tree", "one", "--json", store: url).line
        == #"[{"path":"/a","parameters":"default","complete":true,"lastUse":0}]"#)
    #expect(await sandbox.run("get", "/a/b", store: url).line == "1")
  }
}
