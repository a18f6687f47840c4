import ConiferDocument
import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferQuery
import ConiferSQLite
import ConiferStorage
import ConiferTree
import TestSupport
import Testing

#if Encryption
  import ConiferEncryption
#endif
#if RocksDB
  import ConiferRocksDB
#endif

/// The code on the pages of the modules' documentation (`ConiferTree.docc` and others), as `GuideSamples` has that of
/// the guide.
@Suite struct CatalogueSamples {
  @Test("A change of a node shares what it does not change")
  func tree() throws {
    let room = try Node(json: #"{"name": "Kitchen", "size": 3}"#)
    let renamed = room.setting(Key("name"), to: "Attic")
    for change in renamed.changes(since: room) { print(change.key) }
    let text = renamed.json(pretty: true)

    #expect(renamed.changes(since: room).map(\.key) == ["name"])
    #expect(try Node(json: text) == ["name": "Attic", "size": 3])
  }

  @Test("A query gives its children in its order")
  func query() throws {
    let scores = try Node(json: #"{"ada": 7, "bob": 3, "eva": 9}"#)
    let best = try QuerySpec.default.ordered(by: .value).limited(toLast: 2)
    for child in best.evaluate(scores) { print(child.key, child.node) }

    #expect(best.evaluate(scores).map(\.key) == ["ada", "eva"])
  }

  @Test("A query of documents gives those that match, in its order")
  func document() throws {
    let database = DatabaseID(project: "my-app")
    let size = try FieldPath(["size"])
    let large = try DocumentQuery(.collection(CollectionPath("rooms")), in: database)
      .filtered(.field(size, .greaterThan, 2)).ordered(by: size, .descending)
    let eros = Document(try DocumentPath("rooms/eros"), .found(["name": "Eros", "size": 3]))
    let zeus = Document(try DocumentPath("rooms/zeus"), .found(["name": "Zeus", "size": 5]))
    for room in large.evaluate([eros, zeus]) { print(room.path) }

    #expect(large.evaluate([eros, zeus]).map(\.path) == [zeus.path, eros.path])
  }

  @Test("A view stays as it was when a batch is applied")
  func keyValue() throws {
    let store: any OrderedStore = MemoryStore()
    let rooms = Space(id: 1, shape: .rows)
    let before = try store.view()
    var batch = Batch()
    batch.put(rooms, Array("eros".utf8), Array("3".utf8))
    _ = try store.apply(batch, .relaxed)
    let after = try store.view()
    let size = try after.value(rooms, Array("eros".utf8))

    #expect(size == Array("3".utf8))
    #expect(try before.value(rooms, Array("eros".utf8)) == nil)
    before.close()
    after.close()
    try store.close()
  }

  @Test("A backend keeps a tree and answers queries of it")
  func storage() async throws {
    let backend = try StorageConfiguration.memory.open()
    let tree = try await backend.tree(named: "my-app")
    try await backend.commit([.overwrite(tree, "scores", ["ada": 7, "bob": 3, "eva": 9])])
    let best = try QuerySpec.default.ordered(by: .value).limited(toLast: 2)
    let answer = try backend.read { (view) throws(StoreError) in
      try view.query(tree, "scores", best)
    }
    for child in answer.children { print(child.key, child.node) }
    try await backend.close()

    #expect(answer.children.map(\.key) == ["ada", "eva"])
  }

  @Test("Each engine opens by its line")
  func engines() async throws {
    try await keeps { directory in
      let backend = try StorageConfiguration.lmdb(at: directory).open()
      return backend
    }
    try await keeps { directory in
      let backend = try StorageConfiguration.sqlite(at: directory).open()
      return backend
    }
    try await keeps { directory in
      let backend = try StorageConfiguration.log(at: directory).open()
      return backend
    }
    #if RocksDB
      try await keeps { directory in
        let backend = try StorageConfiguration.rocksdb(at: directory).open()
        return backend
      }
    #endif
    #if Encryption
      let key = [UInt8](repeating: 7, count: 32)
      try await keeps { directory in
        let options = StorageOptions(encryption: StoreEncryption(key: key))
        let backend = try StorageConfiguration.sqlite(at: directory, options: options).open()
        return backend
      }
    #endif
  }

  /// Whether a backend keeps what was written when it is opened a second time.
  private func keeps(_ open: (_ directory: String) throws -> any StorageBackend) async throws {
    let scratch = try Scratch()
    let first = try open(scratch.store)
    try await first.commit([.overwrite(first.tree(named: "my-app"), "name", "Attic")])
    try await first.close()
    let second = try open(scratch.store)
    #expect(try await second.node(second.tree(named: "my-app"), "name") == "Attic")
    try await second.close()
  }
}
