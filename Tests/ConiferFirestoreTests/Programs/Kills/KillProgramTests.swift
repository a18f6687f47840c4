import TestSupport
import Testing

@testable import StorageConformance

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Processes with two clients and a server are killed again and again on the same stores. `CONIFER_PROGRAMS` says with how
/// many seeds; `CONIFER_SEED` names one.
@Suite struct `Killed clients and servers of documents` {
  @Test(arguments: EngineStore.durable)
  func `lose no durable write and no end, make nothing twice, and converge`(
    store: EngineStore
  ) async throws {
    let seeds = Seeded.seeds(8)
    var told = 0
    for seed in seeds {
      print("killed clients of documents on \(store.rawValue): CONIFER_SEED=\(seed)")
      let directory = try System.makeTemporaryDirectory(isFast: true)
      defer { System.removeTree(directory) }
      for life in 1...2 {
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [
            store = store.rawValue as String, directory = directory as String,
            seed = seed as UInt64, life = life as Int
          ] in
          let program = KilledProgram(
            store: try #require(EngineStore(rawValue: store)), directory: directory, seed: seed,
            life: life)
          try await program.run()
        }
        try await verdict(store, directory, "\(store.rawValue), seed \(seed), kill \(life)")
          .checkQueues()
      }
      try await verdict(store, directory, "\(store.rawValue), seed \(seed)").checkEnds()
      told += try System.lines(of: KilledProgram.report(directory)).count
    }
    // A process may be killed before an app is told anything; of many that are, nothing would be proved.
    if seeds.count > 1 { #expect(told >= 4 * seeds.count, "the apps were told \(told) things") }
  }

  @Test func `that fail are not taken for killed ones`() async {
    await #expect(processExitsWith: .exitCode(EXIT_FAILURE)) { Death.fail(DiskFaults.failure) }
  }

  private func verdict(
    _ store: EngineStore, _ directory: String, _ place: String
  ) throws -> KillVerdict {
    try KillVerdict(
      store, directory, KilledProgram.names,
      System.lines(of: KilledProgram.report(directory)), place, seed: 1)
  }
}
