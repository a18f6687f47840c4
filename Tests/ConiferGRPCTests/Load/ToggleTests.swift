#if GRPC && Network
  import ConiferFirestore
  import Foundation
  import Testing

  @Suite("A network that is turned off and on again", .timeLimit(.minutes(5)))
  struct ToggleTests {
    /// The emulator knows no tokens: what was sent and not answered is made once more there.
    @Test(
      "Nothing is made late, and nothing twice where the server knows tokens",
      arguments: RealServer.installed)
    func toggles(_ server: RealServer) async throws {
      let (port, name) = (try await server.port(), "toggles-\(UUID().uuidString.lowercased())")
      let db = loadClient(port, name)
      var receipt: WriteReceipt?
      var number = 0
      for round in 1...20 {
        for _ in 0..<5 {
          number += 1
          let batch = db.batch()
          batch.setData(["n": number], forDocument: db.document("last/n"))
          batch.setData(
            ["n": FieldValue.increment(1)], forDocument: db.document("counts/n"), merge: true)
          receipt = batch.enqueue()
        }
        // Some are answered, some are under way, some not sent.
        if round % 3 == 0 { try await receipt?.acknowledged() }
        try await db.disableNetwork()
        try await db.enableNetwork()
      }
      try await receipt?.acknowledged()
      let other = loadClient(port, name)
      #expect(try await other.collection("last").numbers() == ["n": Int64(number)])
      let count = try await other.collection("counts").numbers()["n"] ?? 0
      #expect(server == .own ? count == number : count >= number)
      for db in [db, other] { try await db.terminate() }
    }
  }
#endif
