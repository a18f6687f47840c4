import ConiferKeyValue
import ConiferStorage
import Testing

@testable import StorageConformance

/// A variable with an invalid value fails the check that it is for, with a message that says the
/// right form.
@Suite struct VariableTests {
  private func failure(
    of check: BackendCheck, _ name: String, _ value: String
  ) async throws -> ConformanceFailure? {
    let result = await Variable.$values.withValue([name: value]) {
      await check.result(Tested.log(.none))
    }
    guard result.outcome == .failed else { return nil }
    return ConformanceFailure(result.anomaly ?? .broken, result.reason ?? "")
  }

  private func check(_ words: String) throws -> BackendCheck {
    try #require(
      BackendCheck.all(for: Tested.log(.none)).first { $0.description.contains(words) })
  }

  #if os(Linux)
    private static let programs = "a prefix of the commits with every durable one is there"
    private static let recoveries = "a crash during recovery"

    @Test(
      arguments: [
        (programs, "1:999999:all"), (recoveries, "1001:999999:all+cut:1001:0:all"),
        (recoveries, "1001:20:all+kill:1001:999999:all"),
      ])
    func `A power cut beyond its record is no passed check`(_ words: String, _ cut: String)
      async throws
    {
      let failure = try await failure(of: check(words), "CONIFER_CRASH", cut)
      #expect(failure?.message.contains("no power cut after 999999") == true, "\(cut)")
    }

    @Test(arguments: [
      "", "1", "1:2", "1:-2:all", "-1:2:all", "1:2:some", "1:2:r-3", "1:2:all+", "1:2:all+cut",
      "1:2:all+cut:1:2", "1:2:all+fire:1:2:all", "1:2:all:3",
    ])
    func `A power cut of the wrong form fails with the right form`(_ cut: String) async throws {
      for words in [Self.programs, Self.recoveries, "a prefix of concurrent commits"] {
        let failure = try await failure(of: check(words), "CONIFER_CRASH", cut)
        #expect(failure?.message.contains("SEED:POINT:IMAGE") == true, "\(words), \(cut)")
      }
    }

    @Test func `A cut of one check is none of the others`() async throws {
      for words in [Self.recoveries, "a prefix of concurrent commits"] {
        let check = try check(words)
        let result = await Variable.$values.withValue(["CONIFER_CRASH": "1:2:all"]) {
          await check.result(Tested.log(.none))
        }
        #expect(result.outcome == .leftOut, "\(words)")
      }
    }

    @Test func `An operation that the program does not make is no passed check`() async throws {
      let failure = try await failure(of: check("fails with EIO"), "CONIFER_FAULTS", "999999")
      #expect(failure?.message.contains("none of the program's") == true)
    }

    @Test func `A sample is as large as it is asked for`() async throws {
      let check = try check("fails with EIO")
      for count in [1, 5] {
        let result = await Variable.$values.withValue(["CONIFER_FAULTS": "sample \(count)"]) {
          await check.result(Tested.log(.none))
        }
        #expect(result.outcome == .passed && result.counts["injected faults"] == count)
      }
    }

    @Test(arguments: [
      ("fails with EIO", "CONIFER_FAULTS", "some"), ("fails with EIO", "CONIFER_FAULTS", "-1"),
      ("failed sync", "CONIFER_FAULTS", "sample"), ("failed sync", "CONIFER_FAULTS", "sample 0"),
      ("fails with EIO", "CONIFER_SEED", "-1"), ("random programs leave", "CONIFER_SEED", "one"),
      ("random programs leave", "CONIFER_PROGRAMS", "0"), (programs, "CONIFER_CRASHES", "many"),
      ("a stream of data", "CONIFER_STREAM", "fully"),
    ])
    func `A value of the wrong form fails with the right form`(
      _ words: String, _ name: String, _ value: String
    ) async throws {
      let failure = try await failure(of: check(words), name, value)
      #expect(failure?.message.contains("\(name)=\(value) is not valid. Set ") == true)
    }
  #endif

  @Test(
    arguments: [
      ("queue", ["queue"]), ("queue|reopen", ["queue", "reopen"]), ("|queue", ["queue"]),
      ("", [""]), ("queue| no check says this", ["queue"]),
    ] as [(String, [String])])
  func `Checks are chosen by phrases`(value: String, phrases: [String]) {
    let all = BackendCheck.all(for: Tested.log(.none)).map(\.description)
    let chosen = Variable.$values.withValue(["CONIFER_CHECK": value]) {
      BackendCheck.all(for: Tested.log(.none)).map(\.description)
    }
    #expect(chosen == all.filter { check in phrases.contains { check.contains($0) } })
    #expect(!chosen.isEmpty)
  }

  @Test func `A phrase that no check says fails in every tier`() async {
    // What it gives is no result of a backend.
    let values = ["CONIFER_CHECK": "Queue|no check says this", "CONIFER_REPORT": ""]
    await Variable.$values.withValue(values) {
      let backend = Tested.log(.none)
      let store = StoreFactory(name: "none", declared: backend.declared) {
        path throws(StoreError) in
        throw StoreError(.io, "Nothing is opened in \(path).")
      }
      let stores = StoreCheck.all(for: store)
      let backends = BackendCheck.all(for: backend)
      let processes = ProcessCheck.all(for: backend)
      #expect([stores.count, backends.count, processes.count] == [1, 1, 1])
      for run: @Sendable () async throws -> Void in [
        { for check in stores { try await check.run(store) } },
        { for check in backends { try await check.run(backend) } },
        { for check in processes { try await check.run(backend) { _ in } } },
      ] {
        let failure = await #expect(throws: ConformanceFailure.self) { try await run() }
        #expect(failure?.message.contains("CONIFER_CHECK=Queue|no check says this") == true)
      }
    }
  }

  @Test func `A phrase of one tier leaves the others without a check`() {
    Variable.$values.withValue(["CONIFER_CHECK": "processes: "]) {
      #expect(BackendCheck.all(for: Tested.log(.none)).isEmpty)
      #expect(!ProcessCheck.all(for: Tested.log(.none)).isEmpty)
    }
  }

  @Test func `Kills that are no number are refused`() throws {
    for value in ["many", "0", "-3"] {
      let failure = #expect(throws: ConformanceFailure.self) {
        try Variable.$values.withValue(["CONIFER_KILLS": value]) {
          try Kills(of: Tested.log(.none)).finish()
        }
      }
      #expect(failure?.message.contains("CONIFER_KILLS=\(value)") == true)
    }
  }

  @Test func `Only so many checks run at a time, and all of them do`() async throws {
    let gate = CheckGate(2)
    let log = Log()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 {
        group.addTask {
          try await gate.pass {
            await log.begin()
            try await Task.sleep(for: .milliseconds(2))
            await log.end()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(await log.most == 2)
    #expect(await log.count == 20)
  }

  private actor Log {
    private(set) var most = 0
    private(set) var count = 0
    private var running = 0
    func begin() {
      running += 1
      count += 1
      most = max(most, running)
    }
    func end() { running -= 1 }
  }
}
