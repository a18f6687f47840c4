import ConiferDocument
import ConiferDocumentSync
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import TestSupport
import Testing

@testable import ConiferFirestore

/// What is stored of the queries that are listened to, and in which commits.
@Suite struct `The engine of documents and the queries that it tracks` {
  private let faults = StorageFaults()
  private let commits = Gathered<[StorageEdit]>()

  private func world(_ store: EngineStore) throws -> EngineWorld {
    faults.note(in: commits)
    return try EngineWorld(store) { [faults] in $0.storage = $0.storage?.failing(faults) }
  }

  /// How many queries each commit stored since the last call, of commits that stored any.
  private func saved() -> [Int] {
    commits.take().map { edits in
      edits.count { if case .saveQuery = $0 { true } else { false } }
    }.filter { $0 > 0 }
  }

  /// When the commit of all fails, each listener begins with one of its own.
  @Test(arguments: EngineStore.allCases, [false, true])
  func `stores what is new of listeners that begin together in one commit`(
    store: EngineStore, fails: Bool
  ) async throws {
    let world = try world(store)
    await world.listen(9, try world.query("old"))
    #expect(saved() == [1])
    if fails { faults.failOnce(.newQuery) }
    let paths = ["a", "b", "old", "c", "b"]
    try await world.listenTogether(paths)
    await world.waitUntilIdle()
    #expect(saved() == (fails ? [1, 1, 1] : [3]))
    #expect(faults.takeCount(of: .findQuery) == (fails ? 7 : 4))
    let targets = world.server.targets.sorted { $0.key < $1.key }
    #expect(targets.map(\.key) == [2, 4, 6, 8])
    #expect(
      targets.map { $0.value.target.source }
        == (try ["old", "a", "b", "c"].map { .collection(try CollectionPath($0)) }))
    _ = world.told.take()
    for (target, path) in [(TargetID(4), "a"), (6, "b"), (8, "c")] {
      try world.server.tell(target, [("\(path)/x", Int64(target))], at: 1000 + Int64(target))
    }
    await world.waitUntilIdle()
    #expect(world.told.take().sorted() == ["0: x4", "1: x6", "3: x8", "4: x6"])
    // What they were stored as is what the next run finds.
    if store != .memory {
      await world.restart()
      _ = saved()
      try await world.listenTogether(paths)
      await world.waitUntilIdle()
      #expect(saved() == [])
      // Each known query is read once.
      #expect(faults.takeCount(of: .findQuery) == 4)
      #expect(world.server.targets.keys.sorted() == [2, 4, 6, 8])
      #expect(world.told.take().sorted().filter { $0.contains("x") }.count == 4)
    }
    await world.end()
  }

  /// The seconds as of which the matches of the first queries are complete.
  private func times(_ world: EngineWorld, _ count: UInt64) async throws -> [Int64?] {
    try await world.engine.ask { loop in
      Result { () throws(StoreError) in
        try loop.store.read { (view, lane) throws(StoreError) in
          try (1...count).map { (id) throws(StoreError) in
            try view.matchesVersion(lane.tree, QueryID(rawValue: id))?.time.seconds
          }
        }
      }
    }.get()
  }

  /// With the first time that it stores, a storage finds out how late documents were read.
  @Test(arguments: EngineStore.allCases)
  func `keeps the time of complete matches of a query that is answered from them`(
    store: EngineStore
  ) async throws {
    let world = try world(store)
    let second: Int64 = 1_000_000
    for (number, path) in ["a", "b"].enumerated() {
      await world.listen(ListenerID(number), try world.query(path))
      let time = Int64(number + 1) * second
      try world.server.tell(TargetID(2 * number + 2), [("\(path)/x", 1)], at: time)
      await world.waitUntilIdle()
    }
    let some = try world.query("a").filtered(
      .field(try ConiferDocument.FieldPath(dotted: "n"), .equal, 1))
    await world.listen(2, some)
    try world.server.tell(6, [("a/x", 1)], at: 3 * second)
    await world.waitUntilIdle()
    #expect(try await times(world, 3) == [1, nil, 3])
    for number: ListenerID in 0..<3 { world.engine.unlisten(number) }
    await world.waitUntilIdle()
    #expect(try await times(world, 3) == [nil, nil, 3])
    // One that an earlier version kept goes when nobody listens any more.
    let source = DocumentQuery.Source.collection(try CollectionPath("b"))
    let version = MatchesVersion(source, at: try ConiferDocument.Timestamp(seconds: 3))
    let edit = DocumentEdit.setMatchesVersion(QueryID(rawValue: 2), version)
    let result = await world.engine.ask { loop in
      Result { () throws(StoreError) in
        try loop.store.commit([.documents(loop.store.tree, [edit])])
      }.map { _ in }
    }
    try result.get()
    #expect(try await times(world, 3) == [nil, 3, 3])
    await world.listen(3, try world.query("b"))
    world.engine.unlisten(3)
    await world.waitUntilIdle()
    #expect(try await times(world, 3) == [nil, nil, 3])
    await world.end()
  }
}
