import ConiferKeyValue
import ConiferStorage
import Testing

@testable import ConiferFirestore

@Suite("Reports of writes of documents that were set aside")
struct SetAsideReportTests {
  @Test("They need care until the app acknowledges them, and stay with their bytes")
  func acknowledged() async throws {
    let world = try ServerWorld()
    defer { withExtendedLifetime(world) {} }
    let configuration = try world.configuration(.sqlite)
    let backend = try #require(configuration.storage).open()
    let tree = try await backend.tree(named: "other")
    let report = Incident(kind: .writeSetAside, tree: tree, place: "write 9", bytes: [9])
    _ = try await backend.commit([.report(report)])
    try await backend.close()
    for round in 0..<2 {
      let firestore = Firestore(configuration)
      let open = try await firestore.incidents(needingCare: true).incidents
      #expect(open.map(\.place) == (round == 0 ? ["write 9"] : []))
      try await firestore.acknowledge(open)
      #expect(try await firestore.incidents(needingCare: true).incidents.isEmpty)
      #expect(try await firestore.incidents().incidents.map(\.bytes) == [[9]])
      try await firestore.terminate()
    }
  }
}
