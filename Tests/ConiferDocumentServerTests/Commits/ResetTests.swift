import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import TestSupport
import Testing

/// Removing all documents of a database.
@Suite struct ResetTests {
  /// A api's view of the database.
  private static func api(_ rig: Rig) -> DatabaseAPI {
    DatabaseAPI(rig.server, database, token: nil)
  }

  @Test("Until a reset is committed the documents are there, and no read time goes back")
  func order() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    let api = Self.api(rig)
    for number in 0..<3 { try await rig.commit(set("a/\(number)", [("n", 1)])) }
    let before = try await api.documents(try query("a"))
    #expect(before.value.count == 3)
    backend.shut()
    let reset = Task { try await api.removeAll() }
    await backend.untilOneWaits()
    let meanwhile = try await api.documents(try query("a"))
    #expect(meanwhile.value.count == 3)
    #expect(meanwhile.time == before.time)
    backend.open()
    try await reset.value
    let after = try await api.documents(try query("a"))
    #expect(after.value.isEmpty)
    #expect(after.time > before.time)
    let made = try await rig.commit(set("a/new", []))
    #expect(made > after.time)
  }

  @Test("A reset whose commit fails leaves what the store has")
  func failed() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    let api = Self.api(rig)
    try await rig.commit(set("a/1", [("n", 1)]))
    let before = try await api.documents(try query("a"))
    // The commit is made, and fails all the same.
    backend.fail(next: 1)
    await #expect(throws: StatusError.self) { try await api.removeAll() }
    let after = try await api.documents(try query("a"))
    #expect(after.value.isEmpty)
    #expect(after.time >= before.time)
    try await rig.commit(set("a/1", [("n", 2)]))
    #expect(try await rig.server.document(document("a/1"), in: database)?.fields["n"] == 2)
  }
}
