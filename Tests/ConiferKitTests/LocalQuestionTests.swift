import ConiferKit
import ConiferStorage
import Logging
import TestSupport
import Testing

/// What is asked about the storage of a database without a server, which has no tree before its first write.
@Suite struct `Questions about a database without a server` {
  @Test func `tell of an empty one that nothing is there`() async throws {
    let scratch = try Scratch()
    var configuration = DatabaseConfiguration.local(storage: .sqlite(at: scratch.store))
    configuration.logger.logLevel = .critical
    let database = Database(configuration)
    let room = database.reference(withPath: "rooms/r1")
    #expect(try await database.space(at: room).fate == .absent)
    let explained = try await database.explain(room.queryOrdered(byChild: "n"))
    #expect(explained.isComplete && explained.lookup.children == 0)
    #expect(try await database.verify().isSound)
    #expect(try await database.incidents().incidents.isEmpty)
    try await room.setValue(["a": ["n": 1], "b": ["n": 2]])
    #expect(try await database.space(at: room).leaves == 2)
    #expect(try await database.explain(room.queryOrdered(byChild: "n")).lookup.children == 2)
    await database.close()
  }

  /// Its storage is no cache.
  @Test func `forget nothing`() async throws {
    let scratch = try Scratch()
    var configuration = DatabaseConfiguration.local(storage: .sqlite(at: scratch.store))
    configuration.logger.logLevel = .critical
    let database = Database(configuration)
    let room = database.reference(withPath: "rooms/r1")
    try await room.setValue(1)
    do throws(DatabaseError) {
      try await database.clear(at: room)
      Issue.record("It was forgotten.")
    } catch {
      #expect(error.code == .storageFailure && error.remedy?.contains("removeValue") == true)
    }
    #expect(try await room.getData().value as? Int == 1)
    await database.close()

    let documents = try Scratch()
    let firestore = Firestore(.local(storage: .sqlite(at: documents.store)))
    let document = firestore.document("rooms/r1")
    try await document.setData(["n": 1])
    do throws(FirestoreError) {
      try await firestore.clear(at: document)
      Issue.record("It was forgotten.")
    } catch {
      #expect(error.code == .failedPrecondition && error.message.contains("delete()"))
    }
    #expect(try await document.getDocument().get("n") as? Int == 1)
    try await firestore.terminate()
  }

  /// Suspending waits for the store first.
  @MainActor @Test func `stay possible when it was resumed while it was being suspended`()
    async throws
  {
    let scratch = try Scratch()
    var configuration = DatabaseConfiguration.local(storage: .sqlite(at: scratch.store))
    configuration.logger.logLevel = .critical
    let database = Database(configuration)
    for number in 0..<50 {
      let receipt = database.reference(withPath: "k\(number)").enqueue(.set(number))
      let background = Task { try await database.suspend() }
      let foreground = Task { try await database.resume() }
      try await background.value
      try await foreground.value
      // It would wait for ever.
      try await receipt.acknowledged()
    }
    await database.close()
  }
}
