import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import Dispatch
import Synchronization
import Testing

/// When rules take effect.
@Suite struct AccessOrderTests {
  /// Which rules were asked last.
  private final class Asked: Sendable {
    let rules = Mutex(0)
  }

  @Test("Of rules that are set at once all databases take the same ones last")
  func atOnce() async throws {
    let server = try DocumentServer()
    let asked = Asked()
    // So many that setting the rules of all takes longer than a thread's turn.
    let services = (0..<400).map { number in
      server.transport(to: DatabaseID(project: "p", database: "d\(number)")).service
    }
    for round in 0..<10 {
      DispatchQueue.concurrentPerform(iterations: 4) { thread in
        for call in 0..<10 {
          server.setAccess(
            DocumentAccess(allows: { _, _ in
              asked.rules.withLock { $0 = thread * 10 + call }
              return true
            }))
        }
      }
      await server.waitUntilIdle()
      var last: Set<Int> = []
      for service in services {
        _ = try await service.lookup([document("a/1")], token: nil)
        last.insert(asked.rules.withLock { $0 })
      }
      #expect(last.count == 1, "round \(round)")
    }
    try await server.close()
  }
}
