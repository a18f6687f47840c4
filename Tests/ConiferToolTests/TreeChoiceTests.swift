import ConiferStorage
import ConiferTree
import TestSupport
import Testing

@testable import ConiferTool

/// Which tree a command takes that names none.
@Suite struct TreeChoiceTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// Makes a store with trees, and returns its URL.
  private func store(
    _ backend: String, nodes: [String] = [], documents: [String] = []
  ) async throws -> String {
    let url = sandbox.url(backend)
    let configuration = try Tool.registry.configuration(
      url, defaults: StorageOptions(budget: nil))
    try await StoreOptions.opened(configuration) { backend in
      for name in nodes { _ = try await backend.tree(named: name) }
      for name in documents { _ = try await backend.tree(named: name, order: .documents) }
    }
    return url
  }

  private func trees(_ url: String) async throws -> [String] {
    let configuration = try Tool.registry.configuration(url, defaults: StorageOptions(budget: nil))
    return try await StoreOptions.opened(configuration) { backend in
      try backend.inspect { try $0.trees().map(\.name) }
    }
  }

  @Test("The only tree of the kind is taken and no other is made", arguments: persistentBackends)
  func only(_ backend: String) async throws {
    let url = try await store(
      backend, nodes: ["chat"], documents: ["projects/p/databases/(default)"])
    #expect(await sandbox.run("set", "/a", "1", store: url).status == .success)
    #expect(await sandbox.run("get", "/a", store: url).line == "1")
    #expect(await sandbox.run("get", "/a", "--tree", "chat", store: url).line == "1")
    #expect(await sandbox.run("doc", "set", "rooms/a", #"{"n": 1}"#, store: url).status == .success)
    #expect(await sandbox.run("doc", "get", "rooms/a", store: url).line.contains("1"))
    let typed = await sandbox.run("doc", "query", "rooms", "--typed", store: url)
    #expect(typed.line.contains("projects/p/databases/(default)/documents/rooms/a"))
    let file = try sandbox.file("rooms.jsonl", typed.text)
    #expect(await sandbox.run("doc", "import", file, store: url).status == .success)
    #expect(try await trees(url) == ["chat", "projects/p/databases/(default)"])
  }

  @Test("Of several trees main is taken, and without it one must be named")
  func several() async throws {
    let url = try await store("sqlite", nodes: ["a", "b"], documents: ["c"])
    let refused = await sandbox.run("set", "/x", "1", store: url)
    #expect(refused.status == .missing)
    #expect(refused.notes.contains("name one with --tree; it has: \"a\", \"b\"."))
    #expect(try await trees(url) == ["a", "b", "c"])
    #expect(await sandbox.run("set", "/x", "1", "--tree", "main", store: url).status == .success)
    #expect(await sandbox.run("set", "/x", "2", store: url).status == .success)
    #expect(await sandbox.run("get", "/x", "--tree", "main", store: url).line == "2")
    #expect(await sandbox.run("stats", store: url).status == .success)
  }

  @Test("A store without a tree of the kind gets main, and reading makes none")
  func none() async throws {
    let url = try await store("sqlite", documents: ["shop"])
    let read = await sandbox.run("get", "/x", store: url)
    #expect(read.status == .usage)
    #expect(read.notes.contains("holds documents"))
    #expect(await sandbox.run("set", "/x", "1", store: url).status == .success)
    #expect(try await trees(url) == ["shop", "main"])
    // One tree of documents: doc commands go on taking it.
    #expect(await sandbox.run("doc", "set", "rooms/a", "{}", store: url).status == .success)
    let wrong = await sandbox.run("doc", "set", "rooms/a/b", "{}", store: url)
    #expect(wrong.status != .success)
    #expect(try await trees(url) == ["shop", "main"])
  }

  @Test(
    "Every command takes the only tree, whatever its name, and none needs to be told",
    arguments: persistentBackends)
  func everyCommand(_ backend: String) async throws {
    let url = try await store(backend, nodes: ["chat"])
    let file = try sandbox.file("f.json", #"{"a":{"b":1}}"#)
    let commands = [
      ["import", file], ["export"], ["get", "/a"], ["set", "/a/c", "2"],
      ["update", "/a", #"{"d":3}"#], ["query", "/a", "--order-by-key"],
      ["index", "--path", "a", "--on", "b"], ["index"], ["pin", "/a"], ["pins"], ["explain", "/a"],
      ["unpin", "/a"], ["set", "/q", "1", "--enqueue"], ["queue", "list"], ["queue", "show", "1"],
      ["queue", "discard", "1"], ["queries"], ["stats", "--tree-only"], ["trees"], ["incidents"],
      ["evict", "--to", "1MB"], ["tidy"], ["compact"], ["remove", "/a/c"],
    ]
    for command in commands {
      let output = await sandbox.run(command, store: url)
      #expect(output.status == .success, "\(command): \(output)")
    }
    #expect(try await trees(url) == ["chat"])
    #expect(
      await sandbox.run("get", "/a", "--tree", "chat", "--json", store: url).line
        == #"{"b":1,"d":3}"#)
  }

  @Test("Where no tree fits, the refusal says what is lacking, not main")
  func lacking() async throws {
    let url = try await store("sqlite", documents: ["a", "b"])
    let nodes = await sandbox.run("get", "/x", store: url)
    #expect(nodes.status == .missing && nodes.notes.contains("no tree of nodes"), "\(nodes)")
    let empty = sandbox.url("log", "empty")
    let configuration = try Tool.registry.configuration(empty)
    try await StoreOptions.opened(configuration) { _ in }
    let none = await sandbox.run("get", "/x", store: empty)
    #expect(none.status == .missing && none.notes.contains("it has none yet"), "\(none)")
  }

  @Test(
    "An import replaces data of a tree that nobody has named only when it is told to",
    arguments: persistentBackends, ["chat", "main"])
  func replacing(backend: String, name: String) async throws {
    let url = try await store(backend, nodes: [name])
    let file = try sandbox.file("f.json", #"{"a":{"b":1}}"#)
    func root() async -> String { await sandbox.run("get", "/", "--json", store: url).line }
    #expect(await sandbox.run("set", "/a", #"{"old":1}"#, store: url).status == .success)
    #expect(await sandbox.run("set", "/x", "2", store: url).status == .success)
    let before = await root()
    for path in [[], ["--path", "/x"], ["--path", "/x/y"], ["--path", "/a/old/z"]] {
      let refused = await sandbox.run(["import", file] + path, store: url)
      #expect(refused.status == .usage, "\(path): \(refused)")
      for word in ["would-replace", "\"\(name)\"", "--replace", "--merge", "--tree"] {
        #expect(refused.notes.contains(word), "\(word): \(refused.notes)")
      }
      #expect(await root() == before)
    }
    // Beside the data, or told what to do, it goes on.
    #expect(
      await sandbox.run("import", file, "--path", "/free/place", store: url).status == .success)
    #expect(await sandbox.run("import", file, "--merge", store: url).status == .success)
    #expect(await root() == #"{"a":{"b":1},"free":{"place":{"a":{"b":1}}},"x":2}"#)
    #expect(await sandbox.run("import", file, "--replace", store: url).status == .success)
    #expect(await root() == #"{"a":{"b":1}}"#)
    #expect(await sandbox.run("import", file, "--tree", name, store: url).status == .success)
    let both = await sandbox.run("import", file, "--replace", "--merge", store: url)
    #expect(both.status == .usage)
  }
}
