import ClientConformance
import ConiferStorage
import Foundation
import TestSupport
import Testing

/// The checks that backends from outside run too, on those of the package.
@Suite struct ConformanceTests {
  @Test(arguments: Store.durable, ClientCheck.all)
  func `A client on the backend keeps its promises`(
    _ store: Store, _ check: ClientCheck
  ) async throws {
    let scratch = try Scratch()
    defer { try? FileManager.default.removeItem(atPath: scratch.path + "/client") }
    try await check.run(in: scratch.path) { store.configuration(at: $0) }
  }

  /// A backend that forgets with each restart keeps none of the promises about restarts.
  @Test(arguments: ClientCheck.all.prefix(5))
  func `A backend that forgets is found out`(_ check: ClientCheck) async throws {
    await #expect(throws: (any Error).self) {
      try await check.run(in: "/nowhere") { _ in .memory }
    }
  }
}
