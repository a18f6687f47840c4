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
}
