#if RocksDB
  import ConiferStorage
  import StorageConformance
  import Testing

  /// What takes a second process to find out: owners, forks, suspension, damaged files.
  @Suite("RocksDB keeps the contract among processes")
  struct ProcessTests {
    @Test("RocksDB", arguments: ProcessCheck.all(for: ContractTests.factory(.standard)))
    func processes(_ check: ProcessCheck) async throws {
      try await check.run(ContractTests.factory(.standard)) { order in
        await #expect(processExitsWith: order.signal == 0 ? .success : .signal(order.signal)) {
          [order = order as ProcessOrder] in
          await ProcessCheck.child(ContractTests.factory(.standard), order)
        }
      }
    }
  }
#endif
