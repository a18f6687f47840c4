import ConiferKeyValue
import ConiferServer
import ConiferStorage
import ConiferTree
import TestSupport
import Testing

@testable import Conifer

/// What an app says of writes that its store has set aside.
@Suite struct `Reports of writes that were set aside` {
  @Test func `need care until the app acknowledges them, and stay with their bytes`() async throws {
    let scratch = try Scratch()
    let storage = Store.sqlite.configuration(at: scratch.path + "/store")
    let backend = try storage.open()
    let tree = try await backend.tree(named: "other")
    _ = try await backend.commit([
      .report(Incident(kind: .writeSetAside, tree: tree, place: "write 9", bytes: [9])),
      .report(Incident(kind: .cacheRangeDropped, tree: tree, place: "/a", bytes: [])),
    ])
    try await backend.close()
    for round in 0..<2 {
      let database = Database(
        DatabaseConfiguration(
          namespace: "test", storage: storage, transport: Server().transport()))
      let open = try await database.incidents(needingCare: true)
      #expect(open.map(\.place) == (round == 0 ? ["write 9"] : []))
      try await database.acknowledge(try await database.incidents())
      #expect(try await database.incidents(needingCare: true).isEmpty)
      #expect(try await database.incidents().map(\.bytes) == [[], [9]])
      await database.close()
    }
  }
}
