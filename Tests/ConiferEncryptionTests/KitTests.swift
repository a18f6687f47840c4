#if Encryption
  import StorageConformance
  import Testing

  private struct StoreCase: Sendable, CustomStringConvertible {
    let factory: StoreFactory
    let check: StoreCheck
    var description: String { "\(factory.name): \(check)" }

    static let all = EncryptedEngine.whole.flatMap { engine in
      StoreCheck.all(for: engine.stores).map { StoreCase(factory: engine.stores, check: $0) }
    }
  }

  private struct BackendCase: Sendable, CustomStringConvertible {
    let factory: BackendFactory
    let check: BackendCheck
    var description: String { "\(factory.name): \(check)" }

    static let all = EncryptedEngine.allCases.flatMap { engine in
      let factory = engine.backends
      let groups: [BackendCheck.Group] =
        EncryptedEngine.whole.contains(engine)
        ? BackendCheck.Group.allCases : [.powerLoss, .faults]
      return BackendCheck.all(for: factory).filter { groups.contains($0.group) }
        .map { BackendCase(factory: factory, check: $0) }
    }
  }

  @Suite("With encryption every backend keeps the contract")
  struct KitTests {
    @Test("The kit of stores passes", arguments: StoreCase.all)
    private func store(_ test: StoreCase) async throws { try await test.check.run(test.factory) }

    @Test("The kit of backends passes", arguments: BackendCase.all)
    private func backend(_ test: BackendCase) async throws {
      try await test.check.run(test.factory)
    }

    @Test("All encrypted backends hold the same after the same program")
    func agreement() async throws {
      try await BackendCheck.agreement(of: EncryptedEngine.allCases.map(\.backends))
    }

    private static let damages = ProcessCheck.all(for: EncryptedEngine.log.backends)
      .filter { $0.group == "damage" }

    @Test(
      "What is damaged is told", arguments: EncryptedEngine.persistent, damages)
    func damage(_ engine: EncryptedEngine, _ check: ProcessCheck) async throws {
      try await check.run(engine.backends) { order in
        await #expect(processExitsWith: .success) {
          [engine = engine as EncryptedEngine, order = order as ProcessOrder] in
          await ProcessCheck.child(engine.backends, order)
        }
      }
    }
  }

  /// Processes that commit to an encrypted store are killed again and again; what each leaves is a prefix of the commits
  /// with every acknowledged one.
  @Suite struct EncryptedKillTests {
    @Test("Encryption", arguments: EncryptedEngine.persistent)
    func killed(_ engine: EncryptedEngine) async throws {
      let kills = try Kills(of: engine.backends)
      defer { kills.finish() }
      for kill in kills.numbers {
        await #expect(processExitsWith: .signal(9)) {
          [
            engine = engine as EncryptedEngine, directory = kills.directory as String,
            kill = kill as Int
          ] in
          try await Kills.commit(engine.backends, in: directory, kill: kill)
        }
        try await kills.check(after: kill)
      }
    }
  }
#endif
