import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

@Suite struct ImportExportTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  private func load(
    _ file: String, _ store: TreeStore, at target: Path = .root, merges: Bool = false,
    window: Int = Importer.standardWindow
  ) async throws {
    let importer = Importer(
      file: try ImportFile(file), target: target, merges: merges, window: window)
    let replaced = try importer.check { _ in }
    _ = try await importer.load(store, replacing: replaced) { _ in }
  }

  private func export(
    _ store: TreeStore, _ path: Path = .root, _ form: Node.JSONForm = .export
  ) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try store.backend.inspect { view in
      var exporter = Exporter(
        view: view, tree: store.tree, form: form,
        writer: JSONWriter(chunkSize: 1000, sink: { bytes += $0 }))
      try exporter.export(path)
    }
    return bytes
  }

  @Test(
    "A real file comes back with the same hash, and as the same bytes from every backend",
    .enabled(if: Repository.hasSamples, "The samples in ../shared/data are not here."),
    arguments: zip(
      ["citm_catalog.json", "hackernews_samples.json", "friendlychat_initial_messages.json"],
      [200_000, 2_000, Importer.standardWindow]))
  func realFile(name: String, window: Int) async throws {
    let file = Repository.sample(name)
    let expected = try Node(json: try contents(file))
    var exports: [[UInt8]] = []
    for backend in backends {
      let sandbox = try Sandbox()
      try await sandbox.opened(backend) { store in
        try await load(file, store, window: window)
        let bytes = try export(store)
        #expect(try NodeHash.hash(Node(json: bytes)) == NodeHash.hash(expected), "\(backend)")
        #expect(try export(store, .root, .plain) == expected.json(.plain), "\(backend)")
        exports.append(bytes)
      }
    }
    #expect(exports.allSatisfy { $0 == exports.first })
    #expect(exports.first == expected.json(.export))
  }

  @Test(
    "Every sample file, also a malformed one, gives the same on every backend",
    .enabled(if: Repository.hasSamples, "The samples in ../shared/data are not here."))
  func everySample() async throws {
    let files = Repository.samples()
    #expect(files.count > 300)
    var outcomes: [[String]] = []
    for backend in backends {
      let sandbox = try Sandbox()
      try await sandbox.opened(backend) { store in
        var own: [String] = []
        for file in files {
          try await store.commit([.overwrite(store.tree, .root, .empty)], .relaxed)
          var outcome = "taken"
          do { try await load(file, store) } catch { outcome = "\(error)" }
          own.append("\(file): \(outcome) \(String(decoding: try export(store), as: UTF8.self))")
        }
        outcomes.append(own)
      }
    }
    #expect(outcomes.first?.contains { $0.contains(": taken {") } == true)
    for (backend, own) in zip(backends, outcomes) {
      for (one, first) in zip(own, outcomes[0]) where one != first {
        Issue.record("\(backend): \(one.prefix(300)), not \(first.prefix(300))")
      }
    }
  }

  @Test(
    "Priorities, arrays, empty values and repeated keys keep their meaning", arguments: backends)
  func shapes(backend: String) async throws {
    let texts = [
      #"{"a":{".value":1,".priority":2},"b":{".priority":"p","c":true}}"#,
      #"[1,null,[true,"x"],{"y":[]}]"#, #"{"a":{"b":1,"c":2},"d":3,"a":{"b":{"z":4}}}"#,
      #""only a leaf""#, "null", "{}", #"{".priority":5,"x":{".priority":-1.5,"y":1e300}}"#,
      #"{"é":1,"e\u0301":2,"10":3,"9":4,"01":5,"1":6}"#, #"{"i":9007199254740993,"d":0.1}"#,
    ]
    for (index, text) in texts.enumerated() {
      let expected = try Node(json: text)
      try await Sandbox().opened(backend) { store in
        let file = try sandbox.file("\(index).json", text)
        try await load(file, store, at: "/some/place", window: 1)
        #expect(try export(store, "/some/place") == expected.json(.export), "\(text)")
        #expect(try export(store, "/some/place", .plain) == expected.json(.plain), "\(text)")
      }
    }
  }

  @Test("An import replaces what is at its path and leaves the rest", arguments: backends)
  func replaces(backend: String) async throws {
    try await sandbox.opened(backend) { store in
      try await store.backend.commit([
        .overwrite(store.tree, .root, ["a": ["old": 1, "x": 2], "b": "stays"])
      ])
      try await load(try sandbox.file("f.json", #"{"x":{"y":3}}"#), store, at: "/a")
      let node = try store.backend.inspect { try $0.node(store.tree, .root) }
      #expect(node == ["a": ["x": ["y": 3]], "b": "stays"])
    }
  }

  @Test(
    "A merge replaces the children it names, deletes by null and leaves the others",
    arguments: backends)
  func merges(backend: String) async throws {
    try await sandbox.opened(backend) { store in
      try await store.backend.commit([
        .overwrite(store.tree, "/t", ["a": ["old": 1], "b": "stays", "c": 5])
      ])
      let file = try sandbox.file("f.json", #"{"a":{"new":2},"c":null,"d":true}"#)
      try await load(file, store, at: "/t", merges: true)
      let node = try store.backend.inspect { try $0.node(store.tree, "/t") }
      #expect(node == ["a": ["new": 2], "b": "stays", "d": true])
      let queries = try completeness(store)
      #expect(queries == ["/t/a": true, "/t/c": true, "/t/d": true])
    }
  }

  @Test("A finished import leaves one complete query a child", arguments: backends)
  func recordsQueries(backend: String) async throws {
    try await sandbox.opened(backend) { store in
      try await load(try sandbox.file("f.json", #"{"x":{"y":3},"z":1}"#), store, at: "/a")
      #expect(try completeness(store) == ["/a/x": true, "/a/z": true])
      try await load(try sandbox.file("g.json", #"5"#), store, at: "/a")
      #expect(try completeness(store) == ["/a": true])
    }
  }

  @Test(
    "An import that ends early leaves a prefix that nothing calls complete", arguments: backends)
  func endsEarly(backend: String) async throws {
    struct Killed: Error {}
    let chat = ChatGenerator(rooms: 40, messages: 20)
    let all = Node(children: (0..<40).map { (chat.key($0), chat.room($0)) })
    let file = try sandbox.file("chat.json", all.json(.export))
    try await sandbox.opened(backend) { store in
      try await load(try sandbox.file("before.json", #"{"old":1,"chat":{"x":1}}"#), store)
      #expect(try completeness(store) == ["/chat": true, "/old": true])
      let importer = Importer(
        file: try ImportFile(file), target: "/chat", merges: false, window: 40_000)
      let replaced = try importer.check { _ in }
      var commits = 0
      await #expect(throws: Killed.self) {
        _ = try await importer.load(store, replacing: replaced) { _ in
          commits += 1
          if commits == 3 { throw Killed() }
        }
      }
      let node = try store.backend.inspect { try $0.node(store.tree, "/chat") }
      let (found, total) = (node.leafCount, all.leafCount)
      #expect(found > 0 && found < total)
      for child in node.children { #expect(all[child.key].leafCount >= child.node.leafCount) }
      #expect(try completeness(store) == ["/chat": false, "/old": true])
      #expect(try !store.backend.inspect { try $0.isComplete(store.tree, "/chat/x") })

      // The next import makes it whole, and its queries complete.
      try await load(file, store, at: "/chat")
      #expect(try store.backend.inspect { try $0.node(store.tree, "/chat") } == all)
      #expect(try store.backend.inspect { try $0.isComplete(store.tree, "/chat") })
    }
  }

  @Test("The mark of an import that ended early goes with the next one", arguments: backends)
  func healsMark(backend: String) async throws {
    struct Killed: Error {}
    let file = try sandbox.file("f.json", #"{"x":{"y":"a long enough text"},"z":1}"#)
    for merges in [false, true] {
      try await Sandbox().opened(backend) { store in
        let importer = Importer(
          file: try ImportFile(file), target: "/t", merges: merges, window: 1)
        let replaced = try importer.check { _ in }
        await #expect(throws: Killed.self) {
          _ = try await importer.load(store, replacing: replaced) { _ in throw Killed() }
        }
        #expect(try completeness(store) == ["/t": false])
        try await load(file, store, at: "/t", merges: merges)
        #expect(try completeness(store) == ["/t/x": true, "/t/z": true])
      }
    }
  }

  /// The default queries of the tree and whether they are complete.
  private func completeness(_ store: TreeStore) throws -> [String: Bool] {
    var found: [String: Bool] = [:]
    try store.backend.inspect { view in
      try view.forEachQuery(store.tree) {
        found[$0.query.path.description] = $0.query.isComplete
      }
    }
    return found
  }
}
