import ConiferStorage
import StorageConformance
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Processes that commit are killed again and again; what each leaves is a prefix of the commits with
/// every acknowledged one.
@Suite struct KillTests {
  @Test func `LMDB`() async throws {
    let kills = try Kills(of: Tested.lmdb(.standard))
    defer { kills.finish() }
    for kill in kills.numbers {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [directory = kills.directory as String, kill = kill as Int] in
        try await Kills.commit(Tested.lmdb(.standard), in: directory, kill: kill)
      }
      try await kills.check(after: kill)
    }
  }

  @Test func `SQLite`() async throws {
    let kills = try Kills(of: Tested.sqlite(.standard))
    defer { kills.finish() }
    for kill in kills.numbers {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [directory = kills.directory as String, kill = kill as Int] in
        try await Kills.commit(Tested.sqlite(.standard), in: directory, kill: kill)
      }
      try await kills.check(after: kill)
    }
  }

  @Test func `Log`() async throws {
    let kills = try Kills(of: Tested.smallLog(.standard))
    defer { kills.finish() }
    for kill in kills.numbers {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [directory = kills.directory as String, kill = kill as Int] in
        try await Kills.commit(Tested.smallLog(.standard), in: directory, kill: kill)
      }
      try await kills.check(after: kill)
    }
  }
}
