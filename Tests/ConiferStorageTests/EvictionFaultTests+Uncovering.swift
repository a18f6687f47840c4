import ConiferDocument
import ConiferKeyValue
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// What commits uncover while an eviction runs.
extension EvictionFaultTests {
  /// What takes a cover from data of a clean tree.
  enum Uncovering: CaseIterable {
    case write, merge, removal, keys, changedKeys, unpin
  }

  @Test(arguments: Uncovering.allCases)
  func `What is uncovered in a clean tree is the first to go`(_ kind: Uncovering) throws {
    let store = ProbeStore()
    let engine = PackedEngine(store, Self.options, Activity(after: 0))
    let tree = try engine.committer.tree("main", .realtimeDatabase, .process)
    _ = engine.group([Self.rooms(tree, 0..<30)])
    let pin = Pin(tree: tree, path: "x")
    let isFiltered = kind == .keys || kind == .changedKeys
    let query = TrackedQuery(
      tree: tree, path: "x",
      parameters: isFiltered ? "{\"l\":1}" : TrackedQuery.defaultParameters, lastUse: 1000)
    var id = QueryID(rawValue: 0)
    switch kind {
    case .write, .merge: break
    case .unpin: _ = engine.group([[.pin(pin), .overwrite(tree, "x/a", Self.room(7))]])
    case .removal, .keys, .changedKeys:
      id = try engine.group([[.saveQuery(query), .overwrite(tree, "x/a", Self.room(7))]])[0].get()
        .queries[0]
      if isFiltered { _ = engine.group([[.setTrackedKeys(tree, id, ["a"])]]) }
    }
    let view = try store.view()
    var run = try Eviction(view, to: Self.cache(store) - 1000)
    view.close()
    while !run.isDone { run = try engine.evictor.slice(run) }
    try #require(run.report.queries.map(\.path) == ["rooms/r0"])
    try #require(engine.evictor.swept.clean == [tree])
    let edit: StorageEdit =
      switch kind {
      case .write: .overwrite(tree, "x/a", Self.room(7))
      case .merge: .merge(tree, "x", [WriteContent.Change("a", Self.room(7))])
      case .removal: .removeQuery(tree, id)
      case .keys: .setTrackedKeys(tree, id, ["b"])
      case .changedKeys: .updateTrackedKeys(tree, id, added: ["b"], removed: ["a"])
      case .unpin: .unpin(pin)
      }
    _ = try engine.group([[edit]])[0].get()
    var next = 30
    while next < 99, try !Self.isEmpty(engine, tree, "x"), !engine.evictor.phase.isRunning {
      _ = engine.group([Self.rooms(tree, next..<next + 1)])
      _ = engine.drain([])
      if try Self.queries(store, tree).count < next - 5 { break }
      next += 1
    }
    Self.waitUntilIdle(engine)
    #expect(next < 99)
    #expect(try Self.isEmpty(engine, tree, "x"))
  }

  /// What takes a cover from a document of a clean tree.
  enum DocumentUncovering: CaseIterable {
    case put, setMatches, updateMatches, removal, unpin, answer, purge
  }

  @Test(arguments: DocumentUncovering.allCases)
  func `A document that loses its cover is looked for`(_ kind: DocumentUncovering) throws {
    let store = ProbeStore()
    let engine = PackedEngine(store, Self.options, Activity(after: 0))
    let tree = try engine.committer.tree("main", .documents, .process)
    let lane = Lane(tree: tree)
    let database = DatabaseID(project: "p")
    let paths = try (0..<40).map { try DocumentPath("c/d\($0)") }
    func put(_ path: DocumentPath) -> DocumentEdit {
      .put(Document(path, .found(["text": .string(String(repeating: "x", count: 300))])))
    }
    func target(_ number: Int64) throws -> DocumentTarget {
      try DocumentQuery(.collection(try CollectionPath("c")), in: database)
        .filtered(.field(FieldPath(dotted: "n"), .equal, .integer(number))).target
    }
    let pin = Pin(lane, try target(1))
    let write = try Mutation.merge(paths[39], [("n", .value(1))], in: database)
    let batch = MutationBatch([write], written: .zero) { Document($0, .unseen) }
    let first = try engine.group([
      [
        .documents(tree, paths.map(put)), .saveQuery(TrackedQuery(lane, try target(0), lastUse: 1)),
        .saveQuery(TrackedQuery(lane, try target(1), lastUse: 2)),
        .saveQuery(TrackedQuery(lane, try target(2), lastUse: 3)), .pin(pin),
        .enqueue(lane, batch.payload),
      ]
    ])[0].get()
    let ids = first.queries
    _ = try engine.group([
      [
        .documents(
          tree,
          [
            .setMatches(ids[0], Array(paths[..<20])), .setMatches(ids[1], Array(paths[20..<30])),
            .setMatches(ids[2], Array(paths[30..<39])),
          ])
      ]
    ])[0].get()
    let view = try store.view()
    var run = try Eviction(view, to: Self.cache(store) - 1000)
    view.close()
    while !run.isDone { run = try engine.evictor.slice(run) }
    try #require(run.report.queries.count == 1)
    try #require(engine.evictor.swept.clean == [tree])
    // What keeps all covers leaves the tree known as clean.
    _ = try engine.group([[.documents(tree, [put(paths[25]), put(paths[39])])]])[0].get()
    try #require(engine.evictor.swept.clean == [tree])
    let edit: StorageEdit =
      switch kind {
      case .put: .documents(tree, [put(paths[0])])
      case .setMatches: .documents(tree, [.setMatches(ids[2], [])])
      case .updateMatches:
        .documents(tree, [.updateMatches(ids[2], added: [], removed: [paths[31]])])
      case .removal: .removeQuery(tree, ids[2])
      case .unpin: .unpin(pin)
      case .answer: .finish(lane, first.writes[0], .acknowledged)
      case .purge: .purge(lane)
      }
    _ = try engine.group([[edit]])[0].get()
    #expect(engine.evictor.swept.clean.isEmpty)
  }
}
