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
      let open = try await database.incidents(needingCare: true).incidents
      #expect(open.map(\.place) == (round == 0 ? ["write 9"] : []))
      try await database.acknowledge(try await database.incidents().incidents)
      #expect(try await database.incidents(needingCare: true).incidents.isEmpty)
      #expect(try await database.incidents().incidents.map(\.bytes) == [[], [9]])
      await database.close()
    }
  }

  @Test func `are given in windows, also those that need care`() async throws {
    let scratch = try Scratch()
    let storage = Store.sqlite.configuration(at: scratch.path + "/store")
    let backend = try storage.open()
    let tree = try await backend.tree(named: "other")
    let places = (0..<250).map { "write \($0)" }
    _ = try await backend.commit(
      places.map { .report(Incident(kind: .writeSetAside, tree: tree, place: $0, bytes: [9])) })
    try await backend.close()
    let database = Database(
      DatabaseConfiguration(namespace: "test", storage: storage, transport: Server().transport()))
    func windows(needingCare: Bool, limit: Int) async throws -> [[String]] {
      var windows: [[String]] = []
      var end = IncidentPosition()
      while true {
        let window = try await database.incidents(
          needingCare: needingCare, after: end, limit: limit)
        windows.append(window.incidents.map(\.place))
        guard window.hasMore else { return windows }
        end = window.end
      }
    }
    let all = try await windows(needingCare: true, limit: 100)
    #expect(all.map(\.count) == [100, 100, 50] && all.flatMap { $0 } == places)
    #expect(try await database.incidents().incidents.count == 100)
    #expect(try await database.incidents(limit: -1).incidents.count == 1)
    try await database.acknowledge(database.incidents(limit: 149).incidents)
    let open = try await windows(needingCare: true, limit: 100)
    #expect(open.map(\.count) == [100, 1] && open.flatMap { $0 } == Array(places[149...]))
    #expect(try await windows(needingCare: false, limit: 90).map(\.count) == [90, 90, 70])
    await database.close()
  }
}
