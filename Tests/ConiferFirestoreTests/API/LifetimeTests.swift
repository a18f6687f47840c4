import ConiferEngine
import ConiferStorage
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import ConiferFirestore

@Suite("The use of one storage by one database after the other")
struct LifetimeTests {
  private let owner = StorageOwner()
  private let errors = LoggedErrors()
  private let ends = Ends()

  private func configuration(_ store: EngineStore, _ scratch: Scratch) -> FirestoreConfiguration {
    var configuration = FirestoreConfiguration(
      projectID: "test",
      storage: store.configuration(at: scratch.store).failing(DiskFaults(), owner))
    configuration.callbackQueue = CallbackQueue(queue: .global()) { $0() }
    configuration.logger = errors.logger
    return configuration
  }

  /// Begins to remove what is kept, as ported code does.
  private func clear(_ firestore: Firestore) -> Promise<Void> {
    let cleared = Promise<Void>()
    firestore.clearPersistence { [ends] error in
      ends.add(error)
      cleared.resolve(.success(()))
    }
    return cleared
  }

  /// A database with a room `old`, which is ending and does not get to its end before the storage's owner lets it, and
  /// what opens the next one.
  private func ending(
    _ store: EngineStore, _ scratch: Scratch
  ) async throws -> (first: Firestore, next: () -> Firestore) {
    let directory = FirestoreDirectory(nil) { FirestoreEngine($0) }
    #expect(directory.configure(configuration(store, scratch), app: "[DEFAULT]"))
    func next() -> Firestore { directory.firestore(app: "[DEFAULT]", database: nil) }
    let first = next()
    #expect(try await first.document("rooms/old").enqueue(.set(["n": 1])).id != nil)
    owner.hold()
    first.terminate(completion: ends.add)
    return (first, next)
  }

  @Test(
    "Whoever opens the storage after the end waits until it is closed",
    arguments: EngineStore.durable)
  func end(store: EngineStore) async throws {
    let scratch = try Scratch()
    let (first, next) = try await ending(store, scratch)
    first.terminate(completion: ends.add)
    let cleared = clear(first)
    let second = next()
    let receipt = second.document("rooms/new").enqueue(.set(["n": 2]))
    // What does not wait has come to its end meanwhile.
    for _ in 0..<100 { await Task.yield() }
    #expect(ends.all.isEmpty)
    owner.release()
    #expect(try await receipt.id != nil)
    try await cleared.value()
    #expect(ends.all == [nil, nil, nil])
    try await first.terminate()
    #expect(try await second.pendingWrites().count == 1)
    let kept = try await second.collection("rooms").getDocuments(source: .cache)
    #expect(kept.documents.map(\.documentID) == ["new"])
    #expect(errors.all.isEmpty)
    try await second.terminate()
  }

  @Test(
    "A removal that the old database is asked for, and the next database, wait for each other",
    arguments: EngineStore.durable)
  func removalBesideTheNext(store: EngineStore) async throws {
    let scratch = try Scratch()
    let (first, next) = try await ending(store, scratch)
    // Any part of the app may ask for it.
    let second = next()
    let cleared = clear(first)
    let receipt = second.document("rooms/new").enqueue(.set(["n": 2]))
    // It is used by now, and nothing is taken from it.
    _ = clear(first)
    for _ in 0..<100 { await Task.yield() }
    #expect(ends.all == [.failedPrecondition])
    owner.release()
    #expect(try await receipt.id != nil)
    try await cleared.value()
    let kept = try await second.collection("rooms").getDocuments(source: .cache)
    #expect(kept.documents.map(\.documentID) == ["new"])
    try await second.terminate()
  }

  /// The store is damaged when the app has it removed, or was salvaged by an engine before.
  @Test("What is kept of a damaged store is removed, too", arguments: [false, true])
  func clearDamaged(isSalvaged: Bool) async throws {
    let scratch = try Scratch()
    var configuration = configuration(.lmdb, scratch)
    configuration.storage = EngineStore.lmdb.configuration(at: scratch.store)
    let first = Firestore(configuration)
    for n in 0..<50 {
      #expect(try await first.document("rooms/r\(n)").enqueue(.set(["n": n])).id != nil)
    }
    try await first.terminate()
    let file = scratch.store + "/data.mdb"
    let whole = Scratch.read(file)
    // The end of the file may be pages that nothing uses.
    Scratch.write(Array(whole.prefix(whole.count / 2)), file)
    let second = Firestore(configuration)
    if isSalvaged {
      _ = try await second.pendingWrites()
      try await second.terminate()
      #expect(!Scratch.names(scratch.store + ".damaged").isEmpty)
    }
    try await second.clearPersistence()
    #expect(Scratch.names(scratch.store + ".damaged").isEmpty)
    let third = Firestore(configuration)
    #expect(try await third.pendingWrites().isEmpty)
    try await third.terminate()
  }

  @Test(
    "A second database on the directory of an open one is told so, with the remedy, and harms nothing",
    arguments: EngineStore.durable)
  func twice(store: EngineStore) async throws {
    let scratch = try Scratch()
    var configuration = configuration(store, scratch)
    configuration.storage = store.configuration(at: scratch.store)
    let first = Firestore(configuration)
    #expect(try await first.document("rooms/a").enqueue(.set(["n": 1])).id != nil)
    let second = Firestore(configuration)
    do {
      _ = try await second.document("rooms/b").enqueue(.set(["n": 2])).id
      Issue.record("Two databases write to one store.")
    } catch {
      let words = error.description
      #expect(words.contains("has the store open already") && words.contains("close it first"))
    }
    do {
      _ = try await second.collection("rooms").getDocuments(source: .cache)
      Issue.record("Two databases read one store.")
    } catch {
      #expect(error.code == .failedPrecondition || error.code == .unavailable)
    }
    try await second.terminate()
    #expect(try await first.document("rooms/c").enqueue(.set(["n": 3])).id != nil)
    #expect(try await first.pendingWrites().count == 2)
    try await first.terminate()
    let third = Firestore(configuration)
    #expect(try await third.pendingWrites().count == 2)
    try await third.terminate()
  }

  @Test(
    "The first use follows a removal that was asked for before it", arguments: EngineStore.durable)
  func clearAndUse(store: EngineStore) async throws {
    let scratch = try Scratch()
    let old = Firestore(configuration(store, scratch))
    #expect(try await old.document("rooms/old").enqueue(.set(["n": 1])).id != nil)
    try await old.terminate()
    let firestore = Firestore(configuration(store, scratch))
    owner.hold()
    let cleared = clear(firestore)
    let receipt = firestore.document("rooms/new").enqueue(.set(["n": 2]))
    for _ in 0..<100 { await Task.yield() }
    owner.release()
    #expect(try await receipt.id != nil)
    try await cleared.value()
    #expect(ends.all == [nil])
    #expect(try await firestore.pendingWrites().count == 1)
    let kept = try await firestore.collection("rooms").getDocuments(source: .cache)
    #expect(kept.documents.map(\.documentID) == ["new"])
    #expect(errors.all.isEmpty)
    try await firestore.terminate()
  }

  @Test(
    "Calls that wait throw when the database is terminated",
    arguments: [
      { _ = try await $0.document("rooms/eros").getDocument() },
      { _ = try await $0.collection("rooms").getDocuments() },
      { _ = try await $0.collection("rooms").count.getAggregation(source: .server) },
      { try await $0.loadBundle(Data([1])) },
      { try await $0.loadBundle(InputStream(data: Data([1]))) },
      { database in
        _ = try await database.runTransaction { try await $0.getDocument(database.document("a/b")) }
      },
      { database in
        _ = try await database.runTransaction { $0.deleteDocument(database.document("a/b")) }
      },
    ] as [@Sendable (Firestore) async throws -> Void])
  func waiting(call: @escaping @Sendable (Firestore) async throws -> Void) async throws {
    // An engine that never answers.
    let world = Recorded()
    let firestore = world.firestore
    world.engine.answer { $0.isSilent = true }
    let ended = Gathered<Bool>()
    let called = Task {
      defer { ended.add(true) }
      try await call(firestore)
    }
    while world.engine.calls.isEmpty, ended.all.isEmpty { await Task.yield() }
    // One that fails before it asks the engine for anything would never be waited for.
    try #require(ended.all.isEmpty, "the call ended by itself")
    try await firestore.terminate()
    let error = await #expect(throws: FirestoreError.self) { try await called.value }
    #expect(error?.code == .failedPrecondition)
    // The requests of a transaction are cancelled.
    for call in world.engine.calls where ["lookup", "commit"].contains(call) {
      while !world.engine.calls.contains("end of \(call)") { await Task.yield() }
    }
  }
}
