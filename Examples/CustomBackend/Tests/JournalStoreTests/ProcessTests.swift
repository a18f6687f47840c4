import StorageConformance
import Testing

/// What takes a second process to find out: owners, forks, suspension, damaged files.
@Suite("The journal keeps the contract among processes")
struct ProcessTests {
  @Test("A journal", arguments: ProcessCheck.all(for: ContractTests.backends))
  func processes(_ check: ProcessCheck) async throws {
    try await check.run(ContractTests.backends) { order in
      await #expect(processExitsWith: order.signal == 0 ? .success : .signal(order.signal)) {
        [order = order as ProcessOrder] in
        await ProcessCheck.child(ContractTests.backends, order)
      }
    }
  }
}
