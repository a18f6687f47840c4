import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferStorage
import ConiferWire
import Dispatch
import TestSupport
import Testing

@testable import ConiferFirestore

@Suite struct `The engine of documents and bundles` {
  private static let documents = "projects/test/databases/(default)/documents"

  /// A bundle of elements in JSON; the metadata is made of them.
  static func bundle(_ id: String, _ time: String, _ elements: [String]) -> [UInt8] {
    let body = elements.map { "\($0.utf8.count)\($0)" }.joined()
    let count = elements.count { $0.hasPrefix("{\"documentMetadata") }
    let metadata =
      "{\"metadata\":{\"id\":\"\(id)\",\"createTime\":\"\(time)\",\"version\":1,"
      + "\"totalDocuments\":\(count),\"totalBytes\":\"\(body.utf8.count)\"}}"
    return Array("\(metadata.utf8.count)\(metadata)\(body)".utf8)
  }

  static func document(
    _ path: String, _ n: Int, queries: [String] = [], at time: String = "1970-01-01T00:00:02Z"
  ) -> [String] {
    let names = queries.map { "\"\($0)\"" }.joined(separator: ",")
    return [
      "{\"documentMetadata\":{\"name\":\"\(documents)/\(path)\",\"readTime\":\"\(time)\","
        + "\"exists\":true,\"queries\":[\(names)]}}",
      "{\"document\":{\"name\":\"\(documents)/\(path)\",\"updateTime\":\"1970-01-01T00:00:01Z\","
        + "\"fields\":{\"n\":{\"integerValue\":\"\(n)\"}}}}",
    ]
  }

  static let query =
    "{\"namedQuery\":{\"name\":\"best\",\"readTime\":\"1970-01-01T00:00:02Z\",\"bundledQuery\":{"
    + "\"parent\":\"\(documents)\",\"limitType\":\"LAST\",\"structuredQuery\":{"
    + "\"from\":[{\"collectionId\":\"rooms\"}],\"limit\":{\"value\":2},"
    + "\"where\":{\"fieldFilter\":{\"field\":{\"fieldPath\":\"n\"},\"op\":\"GREATER_THAN\","
    + "\"value\":{\"integerValue\":\"1\"}}},"
    + "\"orderBy\":[{\"field\":{\"fieldPath\":\"n\"},\"direction\":\"ASCENDING\"}]}}}}"

  private func load(_ world: EngineWorld, _ bytes: [UInt8]) async {
    world.engine.loadBundle(bytes) { [told = world.told] result in
      switch result {
      case .success(let progress):
        told.add(
          "\(progress.documents)/\(progress.totalDocuments)\(progress.isDone ? " done" : "")")
      case .failure(let error): told.add("\(error.code)")
      }
    }
    await world.waitUntilIdle()
  }

  @Test(arguments: EngineStore.allCases)
  func `are taken in with their queries, and asked for from where they end`(
    store: EngineStore
  ) async throws {
    let world = try EngineWorld(store)
    let bytes = Self.bundle(
      "rooms", "1970-01-01T00:00:03Z",
      [Self.query] + Self.document("rooms/a", 1) + Self.document("rooms/b", 2, queries: ["best"])
        + Self.document("rooms/c", 3, queries: ["best"]))
    await load(world, bytes)
    #expect(world.told.take() == ["0/3", "1/3", "2/3", "3/3 done"])
    await load(world, bytes)
    #expect(world.told.take() == ["3/3 done"])
    let named = Gathered<DocumentQuery?>()
    for name in ["best", "none"] {
      world.engine.namedQuery(name) { result in named.add(try? result.get()) }
    }
    await world.waitUntilIdle()
    let query = try #require(named.all.first ?? nil)
    let n = try ConiferDocument.FieldPath(dotted: "n")
    #expect(
      try query
        == world.query("rooms").filtered(.field(n, .greaterThan, .integer(1)))
        .ordered(by: n).limited(toLast: 2))
    #expect(named.all.count == 2 && named.all[1] == nil)
    await world.listen(1, query)
    #expect(world.told.take() == ["1: b2 c3 cached"])
    let target = try #require(world.server.targets.values.first)
    #expect(target.resumeToken.isEmpty && target.version.microseconds == 2_000_000)
    #expect(target.expectedCount == 2)
    await world.end()
  }

  @Test func `are refused when their times are invalid`() async throws {
    let world = try EngineWorld()
    for bytes in [
      Self.bundle("rooms", "2400-01-01T00:00:03Z", Self.document("rooms/a", 1)),
      Self.bundle(
        "rooms", "1970-01-01T00:00:03Z",
        Self.document("rooms/a", 1, at: "2400-01-01T00:00:03Z")),
      Self.bundle(
        "rooms", "1970-01-01T00:00:03Z",
        Self.document("rooms/a", 1, at: "1970-01-01T00:00:00Z")),
    ] {
      await load(world, bytes)
      #expect(world.told.take().last == "invalidArgument")
    }
    await load(
      world, Self.bundle("rooms", "1970-01-01T00:00:03Z", Self.document("rooms/a", 1)))
    #expect(world.told.take() == ["0/1", "1/1 done"])
    await world.end()
  }

  @Test func `are refused whole when a query gives what is not where it looks`() async throws {
    let world = try EngineWorld { $0.transport = nil }
    let bytes = Self.bundle(
      "rooms", "1970-01-01T00:00:03Z",
      [Self.query] + Self.document("rooms/a", 2, queries: ["best"])
        + Self.document("halls/b", 2, queries: ["best"]))
    await load(world, bytes)
    #expect(world.told.take() == ["0/2", "1/2", "invalidArgument"])
    for (id, path) in [(1, "rooms"), (2, "halls")] as [(ListenerID, String)] {
      await world.listen(id, try world.query(path))
    }
    #expect(world.told.take() == ["1:  cached", "2:  cached"])
    await world.end()
  }

  @Test func `are refused when two queries have one name`() async throws {
    let world = try EngineWorld { $0.transport = nil }
    await load(
      world,
      Self.bundle(
        "rooms", "1970-01-01T00:00:03Z",
        [Self.query, Self.query] + Self.document("rooms/a", 2, queries: ["best"])))
    #expect(world.told.take() == ["0/1", "invalidArgument"])
    await world.end()
  }

  /// A bundle of so many documents, each with a number.
  static func many(_ count: Int, _ n: Int, _ time: String) -> [UInt8] {
    bundle("rooms", time, (100..<100 + count).flatMap { document("rooms/r\($0)", n) })
  }

  @Test func `that lost a document to clearing are taken in again`() async throws {
    let world = try EngineWorld { $0.transport = nil }
    let bundle = Self.many(5, 1, "1970-01-01T00:00:03Z")
    await load(world, bundle)
    #expect(world.told.take().first == "0/5")
    await load(world, bundle)
    #expect(world.told.take() == ["5/5 done"])
    _ = try await world.engine.clear(.document(try DocumentPath("rooms/r101")), after: nil)
    await load(world, bundle)
    #expect(world.told.take().first == "0/5")
    await world.end()
  }

  @Test func `are not cleared while they are taken in`() async throws {
    let world = try EngineWorld { $0.transport = nil }
    // More than one step takes in.
    world.engine.loadBundle(Self.many(300, 1, "1970-01-01T00:00:03Z")) { _ in }
    let error = await #expect(throws: FirestoreError.self) {
      try await world.engine.clear(.collection(try CollectionPath("rooms")), after: nil)
    }
    #expect(error?.code == .failedPrecondition)
    await world.waitUntilIdle()
    _ = try await world.engine.clear(.collection(try CollectionPath("rooms")), after: nil)
    await world.end()
  }

  @Test func `of which all is evicted that may be, between two parts, are there in the end`()
    async throws
  {
    let world = try EngineWorld { $0.transport = nil }
    let engine = world.engine
    // Each is done between two parts.
    @Sendable func evict(_ left: Int) {
      engine.run { loop in
        let evicted = DispatchSemaphore(value: 0)
        let evicting = try? loop.store.evicting()
        Task.detached {
          _ = try? await evicting?.evict(to: 0, dryRun: false)
          evicted.signal()
        }
        evicted.wait()
        if left > 0 { evict(left - 1) }
      }
    }
    // In one step, so that none comes when the load is over.
    engine.run { [told = world.told] _ in
      engine.loadBundle(Self.many(350, 2, "1970-01-01T00:00:03Z")) { result in
        switch result {
        case .success(let progress): if progress.isDone { told.add("loaded") }
        case .failure(let error): told.add("\(error)")
        }
      }
      evict(5)
    }
    await world.waitUntilIdle()
    #expect(world.told.take() == ["loaded"])
    await world.listen(1, try world.query("rooms"))
    #expect(world.told.take().first?.split(separator: " ").count == 352)
    await world.end()
  }

  @Test func `of one id are loaded one after the other, and an older one changes nothing`()
    async throws
  {
    let world = try EngineWorld { $0.transport = nil }
    let (new, old) = (
      Self.many(250, 4, "1970-01-01T00:00:05Z"), Self.many(250, 3, "1970-01-01T00:00:04Z")
    )
    world.engine.run { [engine = world.engine, told = world.told] _ in
      for (name, bytes) in [("new", new), ("old", old)] {
        engine.loadBundle(bytes) { result in
          guard case .success(let progress) = result else { return told.add("\(name) failed") }
          if progress.isDone || progress.documents == 0 {
            told.add("\(name) \(progress.documents)")
          }
        }
      }
    }
    await world.waitUntilIdle()
    #expect(world.told.take() == ["new 0", "new 250", "old 250"])
    await load(world, new)
    #expect(world.told.take() == ["250/250 done"])
    await world.end()
  }

  @Test func `are taken in on a device whose clock was never set`() async throws {
    let world = try EngineWorld { $0.clock = ScriptedClock(at: 0) }
    await load(world, Self.bundle("rooms", "2026-01-01T00:00:03Z", Self.document("rooms/a", 1)))
    #expect(world.told.take() == ["0/1", "1/1 done"])
    await load(world, Self.bundle("halls", "2400-01-01T00:00:03Z", Self.document("halls/a", 1)))
    #expect(world.told.take() == ["invalidArgument"])
    await world.end()
    // What the server said counts.
    let heard = try EngineWorld { $0.clock = ScriptedClock(at: 0) }
    await heard.listen(1, try heard.query("yards"))
    // In 2026.
    try heard.server.tell(2, [], at: 1_780_000_000_000_000)
    await heard.waitUntilIdle()
    _ = heard.told.take()
    await load(heard, Self.bundle("halls", "2027-01-01T00:00:03Z", Self.document("halls/a", 1)))
    #expect(heard.told.take() == ["invalidArgument"])
    await load(heard, Self.bundle("rooms", "2026-01-01T00:00:03Z", Self.document("rooms/a", 1)))
    #expect(heard.told.take() == ["0/1", "1/1 done"])
    await heard.end()
    // A clock that is set counts.
    let other = try EngineWorld()
    await load(other, Self.bundle("rooms", "2026-01-01T00:00:03Z", Self.document("rooms/a", 1)))
    #expect(other.told.take() == ["invalidArgument"])
    await other.end()
  }

  @Test func `of many documents let others be served meanwhile`() async throws {
    let world = try EngineWorld { $0.transport = nil }
    await world.listen(1, try world.query("halls"))
    _ = world.told.take()
    let bytes = Self.bundle(
      "rooms", "1970-01-01T00:00:03Z",
      [Self.query] + (100..<350).flatMap { Self.document("rooms/r\($0)", 2, queries: ["best"]) })
    let write = try Mutation.set(
      DocumentPath("halls/a"), [("n", .value(.integer(1)))], in: EngineWorld.database)
    // Asked for in one step, so that both wait behind it.
    world.engine.run { [engine = world.engine, told = world.told] _ in
      engine.loadBundle(bytes) { result in
        if case .success(let progress) = result, progress.isDone { told.add("loaded") }
      }
      _ = engine.write([write], nil)
    }
    await world.waitUntilIdle()
    #expect(world.told.take() == ["1: a1 cached pending", "loaded"])
    await world.listen(2, try world.query("rooms"))
    #expect(world.told.take().first?.split(separator: " ").count == 252)
    let named = Gathered<DocumentQuery?>()
    world.engine.namedQuery("best") { result in named.add(try? result.get()) }
    await world.waitUntilIdle()
    #expect(named.all.count == 1 && named.all[0] != nil)
    await world.end()
  }

  @Test func `are refused when they are damaged or of another database`() async throws {
    let world = try EngineWorld()
    let good = Self.bundle("rooms", "1970-01-01T00:00:03Z", Self.document("rooms/a", 1))
    await load(world, Array("12{}".utf8))
    await load(world, [])
    await load(world, Array(good.dropLast(3)))
    await load(
      world,
      Array(
        String(decoding: good, as: UTF8.self).replacing("projects/test", with: "projects/tess").utf8
      ))
    #expect(
      world.told.take() == [
        "invalidArgument", "invalidArgument", "0/1", "invalidArgument", "0/1", "invalidArgument",
      ])
    await load(world, good)
    #expect(world.told.take() == ["0/1", "1/1 done"])
    await world.end()
  }
}
