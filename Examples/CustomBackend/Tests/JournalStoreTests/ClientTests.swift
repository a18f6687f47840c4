import ClientConformance
import Foundation
import JournalStore
import Testing

@Suite("A client on the journal keeps its promises")
struct ClientTests {
  @Test("Offline and across restarts", arguments: ClientCheck.all)
  func client(_ check: ClientCheck) async throws {
    let directory = NSTemporaryDirectory() + "/journal-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try await check.run(in: directory) { .journal(at: $0) }
  }
}
