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
}
