import StorageConformance
import Testing

/// Processes that commit are killed again and again; what each leaves is a prefix of the commits with
/// every acknowledged one.
@Suite struct KillTests {
  @Test func `A journal`() async throws {
    let kills = try Kills(of: ContractTests.backends)
    defer { kills.finish() }
    for kill in kills.numbers {
      await #expect(processExitsWith: .signal(9)) {
        [directory = kills.directory as String, kill = kill as Int] in
        try await Kills.commit(ContractTests.backends, in: directory, kill: kill)
      }
      try await kills.check(after: kill)
    }
  }
}
