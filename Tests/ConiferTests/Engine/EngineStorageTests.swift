import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import Logging
import TestSupport
import Testing

/// What a client logs of the damage that its storage met.
@Suite struct EngineStorageTests {
  @Test func `Each report of damage is logged once, however many there were`() async throws {
    let notes = Gathered<String>()
    let storage = EngineStorage(Logger(label: "test") { _ in NotingLogHandler(notes: notes) })
    let backend = try StorageConfiguration.memory().open()
    let tree = try await backend.tree(named: "main")
    storage.open(backend, Lane(tree: tree, identity: ""))
    func report(_ kind: Incident.Kind, _ place: String) async throws -> [String] {
      _ = try await backend.commit(
        [.report(Incident(kind: kind, tree: tree, place: place, bytes: []))], .relaxed)
      let (before, logged) = (storage.incidentCount, notes.all.count)
      storage.reportIncidents()
      #expect(storage.incidentCount == before + 1)
      return Array(notes.all.dropFirst(logged))
    }
    #expect(try await report(.writeSetAside, "write 1").allSatisfy { $0.contains("write 1") })
    for number in 0..<300 {
      let lines = try await report(.cacheRangeDropped, "range \(number)")
      #expect(lines.count == 1 && lines.allSatisfy { $0.contains("at range \(number),") })
    }
    try await backend.close()
  }

  /// A question that fails for another reason is not asked twice.
  @Test(arguments: [false, true])
  func `A question that ends as the storage is let go of is asked again`(
    _ isSuspended: Bool
  ) async throws {
    let storage = EngineStorage(Logger(label: "test"))
    let backend = try StorageConfiguration.memory().open()
    let tree = try await backend.tree(named: "main")
    storage.open(backend, Lane(tree: tree, identity: ""))
    let asked = Gathered<Int>()
    var isFirst = true
    var failure: DatabaseError.Code?
    do throws(DatabaseError) {
      let count = try await StorageQuestions.ask { () throws(DatabaseError) in
        if !isFirst, isSuspended {
          try await storage.suspend()
          try await storage.resume {}
        }
        isFirst = false
        return try StorageQuestions(storage)
      } _: { (_) throws(StoreError) in
        asked.add(0)
        guard asked.all.count > 1 else { throw StoreError(.closed, "The view was closed.") }
        return asked.all.count
      }
      #expect(count == 2)
    } catch { failure = error.code }
    #expect(failure == (isSuspended ? nil : .closed))
    #expect(asked.all.count == (isSuspended ? 2 : 1))
    try await backend.close()
  }

  @Test func `Who is cancelled waits for no answer, and the question goes on`() async throws {
    let storage = EngineStorage(Logger(label: "test"))
    let backend = try StorageConfiguration.memory().open()
    storage.open(backend, Lane(tree: try await backend.tree(named: "main"), identity: ""))
    let questions = try StorageQuestions(storage)
    let (began, mayEnd, ended) = (Promise<Void>(), Promise<Void>(), Promise<Void>())
    let task = Task {
      try await StorageQuestions.ask({ () throws(DatabaseError) in questions }) {
        (_) throws(StoreError) in
        began.resolve(.success(()))
        try? await mayEnd.value()
        ended.resolve(.success(()))
      }
    }
    try await began.value()
    task.cancel()
    await #expect { try await task.value } throws: { ($0 as? DatabaseError)?.code == .cancelled }
    mayEnd.resolve(.success(()))
    try await ended.value()
    try await backend.close()
  }
}
