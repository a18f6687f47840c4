import ConiferStorage
import StorageConformance
import Testing

/// What takes a second process to find out.
@Suite("Every backend keeps the contract among processes")
struct ProcessConformanceTests {
  @Test("LMDB", arguments: ProcessCheck.all(for: Tested.lmdb(.standard)))
  func lmdb(_ check: ProcessCheck) async throws {
    try await check.run(Tested.lmdb(.standard)) { order in
      await #expect(processExitsWith: order.signal == 0 ? .success : .signal(order.signal)) {
        [order = order as ProcessOrder] in
        await ProcessCheck.child(Tested.lmdb(.standard), order)
      }
    }
  }

  @Test("SQLite", arguments: ProcessCheck.all(for: Tested.sqlite(.standard)))
  func sqlite(_ check: ProcessCheck) async throws {
    try await check.run(Tested.sqlite(.standard)) { order in
      await #expect(processExitsWith: order.signal == 0 ? .success : .signal(order.signal)) {
        [order = order as ProcessOrder] in
        await ProcessCheck.child(Tested.sqlite(.standard), order)
      }
    }
  }

  @Test("Log", arguments: ProcessCheck.all(for: Tested.smallLog(.standard)))
  func log(_ check: ProcessCheck) async throws {
    try await check.run(Tested.smallLog(.standard)) { order in
      await #expect(processExitsWith: order.signal == 0 ? .success : .signal(order.signal)) {
        [order = order as ProcessOrder] in
        await ProcessCheck.child(Tested.smallLog(.standard), order)
      }
    }
  }
}
