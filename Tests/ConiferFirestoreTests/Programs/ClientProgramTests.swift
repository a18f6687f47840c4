import TestSupport
import Testing

@Suite struct `Random programs of two clients and a server of documents` {
  @Test(arguments: EngineStore.allCases)
  func `end with all listeners at what the server has, and each write at one end`(
    store: EngineStore
  ) async throws {
    for seed in Seeded.seeds(store == .memory ? 6 : 3) {
      print("documents client program on \(store.rawValue): CONIFER_SEED=\(seed)")
      var program = try ClientProgram(store, seed)
      try await program.run(100)
    }
  }
}
