#if RocksDB
  import ConiferStorage
  import StorageConformance
  import Testing

  /// Processes that commit are killed again and again; what each leaves is a prefix of the commits
  /// with every acknowledged one.
  @Suite struct RocksDBKillTests {
    @Test func `RocksDB`() async throws {
      let kills = try Kills(of: ContractTests.factory(.standard))
      defer { kills.finish() }
      for kill in kills.numbers {
        await #expect(processExitsWith: .signal(9)) {
          [directory = kills.directory as String, kill = kill as Int] in
          try await Kills.commit(ContractTests.factory(.standard), in: directory, kill: kill)
        }
        try await kills.check(after: kill)
      }
    }
  }
#endif
