import ConiferDocument
import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage
/// What eviction leaves.
extension DocumentStoreTests {
  @Test func `What a purge leaves without writes may be evicted`() async throws {
    let backend = try Self.open(MemoryStore())
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let paths = try (0..<20).map { try Self.path("c/d\($0)") }
    try await backend.commit([
      .documents(tree, paths.map { .put(Self.document($0, 1, size: 300)) })
    ])
    // One of them takes no place now, and still needs what is known of its document.
    let create = Mutation(paths[7], .set(["a": 1], []), if: .exists(false))
    let idle = MutationBatch([create], written: .zero) { _ in Self.document(paths[7], 1) }
    try await backend.commit([
      .enqueue(lane, try Self.merge(paths[3], "n", 2)), .enqueue(lane, idle.payload),
    ])
    _ = try await backend.evict(to: 0, dryRun: false)
    func stored() throws -> [DocumentPath] {
      let collection = try CollectionPath("c")
      return try backend.readDocuments { (view) throws(StoreError) in
        try view.documents(tree, in: collection, after: nil, limit: 99)
      }.map(\.path)
    }
    #expect(try stored() == [paths[3], paths[7]].sorted())
    #expect(try backend.verify().isSound)
    try await backend.commit([.purge(lane)])
    _ = try await backend.evict(to: 0, dryRun: false)
    #expect(try stored().isEmpty)
    #expect(try backend.verify().isSound)
  }

  @Test func `Eviction leaves what listened queries match and what waiting writes change`()
    async throws
  {
    let store = MemoryStore()
    let backend = try Self.open(store)
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree, identity: "anna")
    let long = String(repeating: "long", count: 90)
    let collections = ["a", "a/x/sub", "b/y/sub", "c"]
    let ids = (0..<40).map { "d\($0)" } + [long + "1", long + "2", "__id5__"]
    let paths = try collections.flatMap { name in
      try ids.map { try CollectionPath(name).document($0) }
    }
    try await backend.commit([
      .documents(tree, paths.map { .put(Self.document($0, 1, size: 300)) })
    ])
    // A group's query, and a collection's, each with some matches; writes to others.
    let group = DocumentQuery(.group("sub"), in: Self.database).target
    let single = try DocumentQuery(.collection(CollectionPath("a")), in: Self.database)
      .limited(to: 3).target
    let receipt = try await backend.commit([
      .saveQuery(TrackedQuery(lane, group)), .saveQuery(TrackedQuery(lane, single)),
    ])
    let ofGroup = paths.filter { $0.collection.id == "sub" }.enumerated()
      .filter { $0.offset % 7 == 0 }.map(\.element)
    let ofSingle = paths.filter { $0.collection.description == "a" }.suffix(3)
    try await backend.commit([
      .documents(
        tree,
        [
          .setMatches(receipt.queries[0], ofGroup),
          .setMatches(receipt.queries[1], Array(ofSingle)),
        ])
    ])
    for query in receipt.queries { backend.setActive(true, query, in: tree) }
    let written = try [paths[4], paths[60], Self.path("c/" + long + "2"), Self.path("c/d9")]
    for path in written {
      try await backend.commit([.enqueue(lane, try Self.merge(path, "n", 2))])
    }
    _ = try await backend.evict(to: 0, dryRun: false)
    let left = try backend.readDocuments { (view) throws(StoreError) -> [DocumentPath] in
      var left: [DocumentPath] = []
      for path in paths where try view.document(tree, path).state != .unseen { left.append(path) }
      return left
    }
    let kept = Set(ofGroup + ofSingle + written)
    // Keys that rows cut cover what begins as they do.
    let cut = Set(paths.filter { $0.id.hasPrefix(long) })
    #expect(kept.subtracting(left).isEmpty)
    #expect(Set(left).subtracting(kept).subtracting(cut).isEmpty)
    for path in written {
      let shown = try backend.readDocuments { (view) throws(StoreError) in
        try view.document(lane, path)
      }
      #expect(shown.fields?.count == 2 && shown.fields?["n"] == 2)
    }
    #expect(try backend.verify().isSound)
    // Once a write has ended its document may go.
    let waiting = try backend.read { (view) throws(StoreError) in
      try view.entries(lane, after: nil, limit: 9).map(\.id)
    }
    try await backend.commit(waiting.map { .finish(lane, $0, .acknowledged) })
    _ = try await backend.evict(to: 0, dryRun: false)
    let gone = try backend.readDocuments { (view) throws(StoreError) in
      try view.document(tree, Self.path2)
    }
    #expect(gone.state == .unseen)
    #expect(try backend.verify().isSound)
  }

  @Test func `A pin of a query keeps what it matches, and a query without matches keeps nothing`()
    async throws
  {
    let store = MemoryStore()
    let backend = try Self.open(store)
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree, identity: "anna")
    let paths = try (0..<40).map { try Self.path("c/d\($0)") } + [try Self.path("c/d1/sub/e")]
    let query = DocumentQuery(.collection(try CollectionPath("c")), in: Self.database)
    let targets = [
      try query.filtered(.field(FieldPath(dotted: "n"), .equal, 1)).target,
      DocumentQuery(.group("sub"), in: Self.database).target,
      DocumentQuery(.document(paths[30]), in: Self.database).target,
      try query.filtered(.field(FieldPath(dotted: "n"), .equal, 2)).target,
      try query.filtered(.field(FieldPath(dotted: "n"), .equal, 3)).target,
    ]
    try await backend.commit([
      .documents(tree, paths.map { .put(Self.document($0, 1, size: 300)) })
    ])
    let receipt = try await backend.commit(
      targets.map { StorageEdit.saveQuery(TrackedQuery(lane, $0)) })
    let matches = [Array(paths[3...5]), [paths[40]], [paths[30]], Array(paths[4...9]), []]
    try await backend.commit([
      .documents(tree, zip(receipt.queries, matches).map { .setMatches($0, $1) })
    ])
    // The same query of somebody else, of which nothing is known.
    let other = Pin(Lane(tree: tree, identity: "ben"), targets[3])
    try await backend.commit(
      (targets.prefix(3).map { Pin(lane, $0) } + [other]).map { StorageEdit.pin($0) })
    func explanation(_ path: DocumentPath) throws -> SpaceExplanation {
      try backend.explain(tree, DocumentKey.treePath(path))
    }
    let (pinned, tracked) = (try explanation(paths[4]), try explanation(paths[8]))
    #expect(pinned.fate == .stays && pinned.reasons.contains(.pinned(Pin(lane, targets[0]))))
    #expect(tracked.fate == .afterQueries(0) && tracked.reasons.count == 1)
    #expect(try explanation(paths[20]).fate == .first)
    let report = try await backend.evict(to: 0, dryRun: false)
    #expect(
      Set(report.queries.map(\.parameters))
        == Set(targets[3...].map { TrackedQuery(lane, $0).parameters }))
    try backend.readDocuments { (view) throws(StoreError) in
      let kept = Set(matches[..<3].joined())
      for path in paths {
        let state = try view.document(tree, path).state
        #expect((state != .unseen) == kept.contains(path), "\(path)")
      }
      for (id, paths) in zip(receipt.queries, matches).prefix(3) {
        #expect(try view.matches(tree, id) == paths)
      }
    }
    #expect(try backend.verify().isSound)
    // Without its pins all of it may go.
    try await backend.commit(targets.prefix(3).map { StorageEdit.unpin(Pin(lane, $0)) })
    _ = try await backend.evict(to: 0, dryRun: false)
    try backend.readDocuments { (view) throws(StoreError) in
      #expect(try view.collections(tree, after: nil, limit: 9).isEmpty)
    }
    #expect(try backend.verify().isSound)
  }
}
