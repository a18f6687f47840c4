import ConiferDocument
import ConiferStorage
import Foundation
import Testing

@testable import ConiferFirestore

@Suite("Bundles and indexes")
struct BundleTests {
  let world = Recorded()

  private func tell(_ result: Result<BundleProgress, FirestoreError>) {
    world.engine.answer { $0.bundle }?(result)
  }

  @Test("A task's observers are told how far it has come, and its block that it is done")
  func progress() async throws {
    let told = Told<LoadBundleTaskProgress>()
    let ended = Told<LoadBundleTaskProgress>()
    let task = world.firestore.loadBundle(Data([1, 2, 3]), completion: ended.add)
    task.addObserver { told.add($0, nil) }
    let removed = task.addObserver { _ in Issue.record("It was removed.") }
    task.removeObserverWith(handle: removed)
    tell(.success(BundleProgress(documents: 1, totalDocuments: 2, bytes: 1, totalBytes: 3)))
    #expect(ended.values.isEmpty)
    tell(
      .success(
        BundleProgress(documents: 2, totalDocuments: 2, bytes: 3, totalBytes: 3, isDone: true)))
    #expect(told.values.map(\.state) == [.inProgress, .success])
    #expect(told.values.map(\.documentsLoaded) == [1, 2])
    #expect(ended.values.map(\.bytesLoaded) == [3])
    task.addObserver { told.add($0, nil) }
    #expect(told.values.map(\.state) == [.inProgress, .success, .success])
    #expect(world.engine.calls == ["bundle 3"])
  }

  @Test("A bundle that is invalid is told to the observers and the block, or the log")
  func failure() {
    let (told, ended) = (Told<LoadBundleTaskProgress>(), Told<LoadBundleTaskProgress>())
    world.firestore.loadBundle(Data([1]), completion: ended.add).addObserver { told.add($0, nil) }
    tell(.failure(FirestoreError(.invalidArgument, "No bundle.")))
    #expect(told.values.map(\.state) == [.error] && ended.codes == [.invalidArgument])
    world.firestore.loadBundle(Data([1]))
    tell(.failure(FirestoreError(.invalidArgument, "No bundle.")))
    #expect(world.errors.all == ["No bundle."])
  }

  @Test("A stream is read to its end")
  func stream() async throws {
    let bytes = Data((0..<200_000).map { UInt8($0 % 251) })
    world.firestore.loadBundle(InputStream(data: bytes), completion: nil)
    while world.engine.calls.isEmpty { await Task.yield() }
    #expect(world.engine.calls == ["bundle 200000"])
  }

  @Test("A named query is had by its name")
  func named() async throws {
    let query = DocumentQuery(.collection(try CollectionPath("rooms")), in: world.database)
    world.engine.answer { $0.named["latest"] = query }
    let found = try #require(await world.firestore.getQuery(named: "latest"))
    #expect(found == world.firestore.collection("rooms"))
    #expect(await world.firestore.getQuery(named: "unknown") == nil)
  }

  static let json = """
    {"indexes": [{"collectionGroup": "rooms", "queryScope": "COLLECTION", "fields": [
      {"fieldPath": "size", "order": "DESCENDING"}, {"fieldPath": "tags", "arrayConfig": "CONTAINS"}
    ]}], "fieldOverrides": []}
    """

  @Test(
    "An index configuration declares its indexes; one that is invalid is told with its place")
  func indexes() async throws {
    try await world.firestore.setIndexConfiguration(Self.json)
    try await world.firestore.setIndexConfiguration(InputStream(data: Data(Self.json.utf8)))
    let ends = Ends()
    world.firestore.setIndexConfiguration(Self.json, completion: ends.add)
    #expect(ends.all == [nil])
    #expect(world.engine.answer { $0.indexes.map(\.count) } == [1, 1, 1])
    #expect(world.engine.answer { $0.indexes[0][0].fields.count } == 2)
    for text in ["", "{", "[]", #"{"indexes": [{"fields": []}]}"#] {
      world.firestore.setIndexConfiguration(text, completion: ends.add)
      #expect(ends.all.last == .invalidArgument, "\(text)")
    }
    noCompletion()
    #expect(world.errors.all.count == 1)
  }

  private func noCompletion() { world.firestore.setIndexConfiguration("{") }

  @Test("The index manager is there while the cache is on disk")
  func manager() throws {
    #expect(world.firestore.persistentCacheIndexManager == nil)
    let durable = Recorded { $0.storage = .memory }
    let manager = try #require(durable.firestore.persistentCacheIndexManager)
    manager.enableIndexAutoCreation()
    manager.disableIndexAutoCreation()
    manager.deleteAllIndexes()
    #expect(durable.engine.calls == ["creates true", "creates false"])
    #expect(durable.engine.answer { $0.indexes.map(\.count) } == [0])
  }

  @Test("A task is done when the engine says so, whatever the numbers are, and ends once")
  func doneOnce() {
    let (told, ended) = (Told<LoadBundleTaskProgress>(), Told<LoadBundleTaskProgress>())
    world.firestore.loadBundle(Data([1]), completion: ended.add).addObserver { told.add($0, nil) }
    tell(.success(BundleProgress()))
    tell(.success(BundleProgress(documents: 2, totalDocuments: 1, bytes: 9, totalBytes: 3)))
    #expect(ended.values.isEmpty && told.values.map(\.state) == [.inProgress, .inProgress])
    tell(.failure(FirestoreError(.invalidArgument, "No bundle.")))
    tell(.success(BundleProgress(isDone: true)))
    #expect(ended.values.isEmpty && ended.codes == [.invalidArgument])
    #expect(told.values.map(\.state) == [.inProgress, .inProgress, .error])
  }
}
