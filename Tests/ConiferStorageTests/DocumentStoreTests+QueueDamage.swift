import ConiferDocument
import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage
/// What damage of waiting writes and of overlays costs.
extension DocumentStoreTests {
  @Test func `A damaged or lost overlay is made anew from the queue`() async throws {
    let original = MemoryStore()
    let filled = try Self.open(original)
    let tree = try await filled.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree, identity: "anna")
    let paths = try (0..<4).map { try Self.path("c/d\($0)") }
    try await filled.commit([
      .documents(tree, paths.map { .put(Self.document($0, 1)) })
    ])
    for path in paths.dropLast() {
      try await filled.commit([.enqueue(lane, try Self.merge(path, "n", 2))])
    }
    #expect(try filled.verify().isSound)
    var tried = 0
    for record in try DamageTests.records(original) where record.space == Spaces.overlays {
      tried += 1
      let store = try DamageTests.copy(original)
      try store.damage(record.space, record.key)
      let backend = try Self.open(store)
      #expect(try backend.verify().isSound == false)
      for path in paths {
        let shown = try backend.readDocuments { (view) throws(StoreError) in
          try view.document(lane, path)
        }
        #expect(shown.fields?["n"] == (path == paths[3] ? 1 : 2))
      }
      #expect(try backend.verify().isSound)
      // What is lost leaves no record that could tell: the check does.
      var batch = Batch()
      batch.delete(record.space, record.key)
      _ = try store.apply(batch, .relaxed)
      #expect(try backend.verify().findings.contains { $0.kind == .missing })
    }
    #expect(tried == 3)
  }

  @Test func `A damaged write goes with what it did to its document`() async throws {
    let store = MemoryStore()
    let first = try Self.open(store)
    let tree = try await first.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let path = try Self.path("c/d")
    try await first.commit([
      .documents(tree, [.put(Self.document(path, 1))]),
      .enqueue(lane, try Self.merge(path, "n", 2)), .enqueue(lane, try Self.merge(path, "k", 3)),
    ])
    let write = try #require(
      try DamageTests.records(store).first { $0.space == Spaces.queue && $0.key.last == 1 })
    try store.damage(write.space, write.key)
    let backend = try Self.open(store)
    _ = try backend.read { (view) throws(StoreError) in
      try view.entries(lane, after: nil, limit: 9)
    }
    let shown = try backend.readDocuments { (view) throws(StoreError) in
      try view.document(lane, path)
    }
    #expect(shown.fields?["n"] == 1 && shown.fields?["k"] == 3)
    #expect(
      try backend.read { (view) throws(StoreError) in try view.incidents() }.map(\.kind)
        == [.writeSetAside])
    while try await backend.tidy(.seconds(1)) {}
    #expect(try backend.verify().isSound)
  }

  @Test func `Several damaged writes of a lane go one after the other, and the rest stays`()
    async throws
  {
    let store = MemoryStore()
    let first = try Self.open(store)
    let tree = try await first.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let path = try Self.path("c/d")
    try await first.commit([.documents(tree, [.put(Self.document(path, 1))])])
    for name in ["a", "b", "c", "d"] {
      try await first.commit([.enqueue(lane, try Self.merge(path, name, 2))])
    }
    for record in try DamageTests.records(store)
    where record.space == Spaces.queue && [1, 3, 4].contains(record.key.last) {
      try store.damage(record.space, record.key)
    }
    for record in try DamageTests.records(store) where record.space == Spaces.overlays {
      try store.damage(record.space, record.key)
    }
    let backend = try Self.open(store)
    let shown = try backend.readDocuments { (view) throws(StoreError) in
      try view.document(lane, path)
    }
    let left = try backend.read { (view) throws(StoreError) in
      try view.entries(lane, after: nil, limit: 9).map(\.id.rawValue)
    }
    #expect(left == [2])
    #expect(shown.fields?["b"] == 2)
    let now = try backend.readDocuments { (view) throws(StoreError) in
      try view.document(lane, path)
    }
    #expect(now.fields?.fields.map(\.name) == ["b", "n", "text"])
    try await backend.commit([.purge(lane)])
    while try await backend.tidy(.seconds(1)) {}
    #expect(try backend.verify().isSound)
  }

  /// The overlay of a long name is found through all of its lane.
  @Test func `Waiting writes are applied anew over a document that damage took`() async throws {
    let store = MemoryStore()
    let first = try Self.open(store)
    let tree = try await first.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree, identity: "anna")
    let path = try Self.path("c/d")
    let update = try Mutation.update(
      path, [(FieldPath(["n"]), .value(2))], in: Self.database)
    let batch = MutationBatch([update], written: .zero) { _ in Self.document(path, 1) }
    try await first.commit([
      .documents(tree, [.put(Self.document(path, 1))]), .enqueue(lane, batch.payload),
    ])
    let run = try #require(try DamageTests.records(store).first { $0.space == Spaces.runs })
    try store.damage(run.space, run.key)
    let backend = try Self.open(store)
    _ = try backend.readDocuments { (view) throws(StoreError) in try view.document(tree, path) }
    // An update needs a document that exists.
    let shown = try backend.readDocuments { (view) throws(StoreError) in
      try view.document(lane, path)
    }
    #expect(shown.state == .unseen)
    while try await backend.tidy(.seconds(1)) {}
    #expect(try backend.verify().isSound)
  }
}
