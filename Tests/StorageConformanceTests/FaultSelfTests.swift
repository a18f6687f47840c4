#if os(Linux)
  import ConiferKeyValue
  import ConiferStorage
  import Testing

  @testable import StorageConformance

  @Suite("The checks on failing disks can be failed", .enabled(if: IOSession.isAvailable))
  struct FaultSelfTests {
    /// The check that must fail for each flaw, and the name that it must give.
    static let caught: [(FlawedOnDisk.Flaw, String, Anomaly)] = [
      (.forgetsPoison, "a failed sync", .successAfterFailedSync),
      (.swallowsErrors, "EIO", .lostAcknowledged),
      (.leaksDescriptors, "EIO", .leak),
      (.criesDamage, "EIO", .wrongError),
      (.hoardsReserve, "a full disk refuses writes", .refused),
    ]

    @Test("A flaw is caught under its name, with the operation and a way to repeat it")
    func flaws() async throws {
      #expect(Set(Self.caught.map { $0.0 }) == Set(FlawedOnDisk.Flaw.allCases))
      for (flaw, words, anomaly) in Self.caught {
        let factory = FlawedOnDisk.factory(flaw)
        let check = try #require(
          BackendCheck.faults().first { $0.description.contains(words) }, "\(words)")
        do {
          try await check.run(factory)
          Issue.record("\(flaw) was not caught")
        } catch let error as ConformanceFailure {
          #expect(error.anomaly == anomaly, "\(flaw): \(error)")
          if anomaly != .refused {
            #expect(error.message.contains("at operation"), "\(error)")
            #expect(error.message.contains("CONIFER_FAULTS="), "\(error)")
          }
        }
      }
    }

    @Test("The same store without a flaw passes", arguments: BackendCheck.faults())
    func honest(_ check: BackendCheck) async throws {
      try await check.run(FlawedOnDisk.factory(nil))
    }

    @Test("What was injected is counted in the result")
    func counts() async throws {
      let check = try #require(
        BackendCheck.faults().first { $0.description.contains("a failed sync") })
      let result = await check.result(FlawedOnDisk.factory(nil))
      #expect(result.outcome == .passed)
      #expect(result.counts["injected faults", default: 0] > 10)
    }

    @Test("A store in memory has no disk to fail")
    func memory() {
      let checks = BackendCheck.all(for: Tested.memory(.none))
      #expect(!checks.contains { $0.group == .faults })
    }
  }
#endif
