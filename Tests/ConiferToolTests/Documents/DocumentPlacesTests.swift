import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

/// The commands on any store, with a tree of documents.
@Suite struct DocumentPlacesTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// A store with two collections, an index, a query, a pin, and writes that wait.
  private func filled(_ backend: String = "lmdb") async throws -> String {
    let url = sandbox.url(backend)
    let configuration = try Tool.registry.configuration(
      url, defaults: StorageOptions(budget: nil))
    try await StoreOptions.opened(configuration) { backend in
      let tree = try await backend.tree(named: "shop", order: .documents)
      _ = try await backend.tree(named: "main")
      let lane = Lane(tree: tree, identity: "ann")
      let database = DatabaseID(project: "shop")
      var documents: [Document] = []
      for n in 0..<10 {
        documents.append(
          Document(
            try DocumentPath("rooms/__id\(n)__"), .found(["n": .integer(Int64(n)), "open": true]),
            version: try Timestamp(seconds: 5)))
      }
      documents.append(Document(try DocumentPath("rooms/gone"), .missing))
      documents.append(Document(try DocumentPath("rooms/gone/seats/s1"), .found(["n": 1.5])))
      let index = try DocumentIndex("rooms", [.init(FieldPath(["n"])), .init(FieldPath(["open"]))])
      try await backend.commit([
        .documents(tree, documents.map { .put($0) } + [.setIndexes([index])])
      ])
      let target = try DocumentQuery(.collection(CollectionPath("rooms")), in: database)
        .filtered(.field(FieldPath(["n"]), .lessThan, 3)).target
      let query = try await backend.commit([
        .saveQuery(TrackedQuery(lane, target, isComplete: true))
      ]).queries[0]
      try await backend.commit([
        .documents(tree, [.setMatches(query, documents.prefix(3).map(\.path))]),
        .pin(Pin(lane, target)),
      ])
      let first = try Mutation.update(
        documents[0].path,
        [(FieldPath(["n"]), .increment(2)), (FieldPath(["open"]), .delete)], in: database)
      let second = try Mutation.set(DocumentPath("rooms/new"), [("n", 7)], in: database)
      for mutations in [[first], [first, second], [try Mutation.delete(documents[1].path)]] {
        let batch = MutationBatch(mutations, written: try Timestamp(seconds: 9)) { path in
          documents.first { $0.path == path } ?? Document(path, .unseen)
        }
        try await backend.commit([.enqueue(lane, batch.payload)])
      }
      try await backend.commit([
        .setState(lane, WriteID(rawValue: 3), .sent),
        .setState(lane, WriteID(rawValue: 3), .rejected(reason: "no")),
      ])
      while try await backend.tidy(.milliseconds(50)) {}
    }
    return url
  }

  private func run(_ arguments: String..., url: String) async -> Sandbox.Output {
    await sandbox.run(arguments + ["--tree", "shop"], store: url)
  }

  @Test(
    "Stats tell documents, collections, index rows, matches and waiting writes",
    arguments: persistentBackends)
  func stats(backend: String) async throws {
    let url = try await filled(backend)
    let lines = await run("stats", url: url).text
    #expect(lines.contains("\ndocuments in shop: 12 in 2 collections\n"), "\(lines)")
    #expect(lines.contains("\n  rooms             ") && lines.contains("11 documents"))
    #expect(lines.contains("\n  rooms/gone/seats  1 documents"))
    #expect(lines.contains("\n  index rooms on n ascending, open ascending: 10 rows, "))
    #expect(lines.contains("\n  1 tracked queries match 3 documents\n"))
    #expect(
      lines.contains("\n  queue of ann: 2 waiting writes change 2 documents, 1 rejected\n"),
      "\(lines)")
    let json = try Node(json: await run("stats", "--tree-only", "--json", url: url).line)
    #expect(json[Path("documents/0/documents")] == 12)
    #expect(json[Path("documents/0/collectionCount")] == 2)
    #expect(json[Path("documents/0/indexes/0/rows")] == 10)
    #expect(json[Path("documents/0/queues/0/changedDocuments")] == 2)
    let main = await sandbox.run("stats", "--tree-only", store: url)
    #expect(main.status == .success && !main.text.contains("documents in"))
  }

  @Test("The queue shows writes to documents as they were made")
  func queue() async throws {
    let url = try await filled()
    let list = await run("queue", "list", url: url).text
    #expect(list.contains("1   queued    update    rooms/__id0__             0"), "\(list)")
    #expect(list.contains("2   queued    2 writes  rooms/__id0__ and 1 more  0"))
    #expect(list.contains("3   rejected  delete    rooms/__id1__"))
    let shown = try Node(
      json: await run("queue", "show", "2", "--identity", "ann", "--json", url: url).line)
    #expect(shown["kind" as Key] == "2 writes" && shown["time" as Key] == 9000)
    #expect(shown[Path("writes/0/document")] == "rooms/__id0__")
    #expect(shown[Path("writes/0/ifExists")] == true)
    #expect(shown[Path("writes/0/deleted/0")] == "open")
    #expect(shown[Path("writes/0/transforms/0/increment")] == 2)
    #expect(shown[Path("writes/1/kind")] == "set" && shown[Path("writes/1/fields/n")] == 7)
    #expect(shown[Path("incrementedFrom/0/fields/n")] == 0, "\(shown)")
    let discarded = await run("queue", "discard", "3", "--identity", "ann", url: url)
    #expect(discarded.line == "write 3 discarded")
  }

  @Test("Queries, pins and explanations name collections and documents")
  func places() async throws {
    let url = try await filled()
    let target = #"rooms|f:n < 3|ob:nasc,__name__asc of ann"#
    #expect(
      await run("queries", url: url).text.split(separator: "\n").map {
        $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
      } == ["path parameters complete matches", "rooms \(target) yes 3"])
    #expect(await run("pins", url: url).text.contains("rooms  \(target)"))
    #expect(await run("pin", "rooms/gone/seats", url: url).line == "pin rooms/gone/seats")
    #expect(await run("pin", "rooms/__id7__", url: url).line == "pin rooms/__id7__")
    #expect(await run("pins", url: url).text.contains("rooms/__id7__     default"))
    #expect(await run("unpin", "rooms/__id7__", url: url).line == "unpin rooms/__id7__")
    #expect(await run("unpin", "rooms/__id7__", url: url).status == .missing)

    func explained(_ place: String) async -> [String] {
      await run("explain", place, url: url).text.split(separator: "\n").map {
        $0.split(separator: " ").joined(separator: " ")
      }
    }
    let document = await explained("rooms/__id1__")
    #expect(document.contains("path rooms/__id1__") && document.contains("documents 1"))
    #expect(document.contains("why pinned at rooms (\(target))"), "\(document)")
    #expect(document.contains("document exists"))
    #expect(document.contains("changed 1970-01-01T00:00:05Z"))
    let collection = try Node(json: await run("explain", "rooms", "--json", url: url).line)
    #expect(collection["path" as Key] == "rooms" && collection["documents" as Key] == 11)
    #expect(collection["pendingWrites" as Key] == 2)
    #expect(await explained("rooms/gone").contains("document known to be missing"))
    #expect(
      await explained("rooms/gone/seats").contains("why pinned at rooms/gone/seats (default)"))
    #expect(await explained("/").contains("documents 12"))
    #expect(await run("explain", "a//b", url: url).status == .badData)
  }

  @Test("Verify counts documents, and salvage tells them", arguments: knownBackends)
  func checks(backend: String) async throws {
    let url = try await filled(backend)
    func run(_ arguments: String...) throws -> (status: Int32, text: String) {
      try sandbox.spawn(arguments)
    }
    let sound = try run("verify", "--store", url)
    let words = sound.text.split(separator: "\n").map {
      $0.split(separator: " ").joined(separator: " ")
    }
    #expect(sound.status == 0, "\(sound.text)")
    for line in ["leaves 12", "documents 12", "index entries 10", "overlays 2", "tracked keys 3"] {
      #expect(words.contains(line), "\(sound.text)")
    }
    let salvaged = try run("salvage", url, sandbox.url(backend, "new"))
    #expect(salvaged.status == 0, "\(salvaged.text)")
    #expect(salvaged.text.contains("tree shop: 12 documents, 1 complete"), "\(salvaged.text)")
    #expect(salvaged.text.contains("tree main: 0 leaves"))
  }
}
