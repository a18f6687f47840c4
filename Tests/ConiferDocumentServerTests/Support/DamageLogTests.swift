import ConiferDocumentServer
import ConiferKeyValue
import ConiferStorage
import Logging
import TestSupport
import Testing

/// What a server says of a store that was damaged.
@Suite struct DamageLogTests {
  @Test func `What the store reports of itself is logged when a server opens it`() async throws {
    var options = StorageOptions(durability: .strongest)
    options.role = .authority
    let backend = try StorageConfiguration.memory(options).open()
    let tree = try await backend.tree(named: "other")
    for (tree, place) in [(TreeID(rawValue: 0), "the end"), (tree, "a part")] {
      _ = try await backend.commit(
        [.report(Incident(kind: .recordSetAside, tree: tree, place: place, bytes: []))], .relaxed)
    }
    let notes = Gathered<String>()
    let server = try DocumentServer(
      in: backend,
      DocumentServerConfiguration(
        logger: Logger(label: "test") { _ in NotingLogHandler(notes: notes) }))
    #expect(notes.all.count == 1 && notes.all.allSatisfy { $0.contains("the end") })
    _ = try await backend.commit(
      [.report(Incident(kind: .recordSetAside, tree: tree, place: "later", bytes: []))], .relaxed)
    try await eventually("a report is not logged") { notes.all.count >= 2 }
    #expect(notes.all.count == 2 && notes.all[1].contains("later"))
    try await server.close()
    try await backend.close()
  }
}
