import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Testing

@testable import StorageConformance

/// What is wrong after a crash gets the right name.
@Suite struct CrashVerdictTests {
  /// A model that is its own backend, under a name that nobody else has.
  private static func open() throws -> any StorageBackend {
    let name = try System.makeTemporaryDirectory()
    System.removeTree(name)
    let factory = ModelBackend.factory()
    return try factory.open(name, factory.options)
  }

  /// States of a program, and a backend that got their commits changed by a closure.
  private func judge(
    _ seed: UInt64, _ change: (Int, [StorageEdit]) -> [StorageEdit]?
  ) async throws -> Anomaly? {
    let program = CrashProgram(
      seed: seed, strongest: .process, isWhole: false,
      documents: seed % 2 == 0 ? TreeProgram.Documents() : nil)
    let run = try await CrashRun(program, open: Self.open)
    for step in 1...12 { try await run.run(step) }
    let changed = try Self.open()
    _ = try await changed.tree(named: StepLog.tree)
    for (name, order) in program.trees { _ = try await changed.tree(named: name, order: order) }
    for (index, state) in run.states.enumerated() where !state.edits.isEmpty {
      guard let edits = change(run.states.count - 1 - index, state.edits) else { continue }
      // A commit that needs the missing one would not have been made.
      do { try await changed.commit(edits) } catch { return nil }
    }
    let last = run.states.count - 1
    do {
      _ = try CrashVerdict(states: run.states, acknowledged: 0, issued: last).state(of: changed)
    } catch let failure as ConformanceFailure { return failure.anomaly }
    return nil
  }

  private func anomalies(
    _ change: (Int, [StorageEdit]) -> [StorageEdit]?
  ) async throws -> Set<Anomaly> {
    var found: Set<Anomaly> = []
    for seed: UInt64 in 1...16 {
      if let anomaly = try await judge(seed, change) { found.insert(anomaly) }
    }
    return found
  }

  @Test func `The same commits are a state`() async throws {
    #expect(try await anomalies { _, edits in edits } == [])
  }

  @Test func `A commit that is missing before others is a hole`() async throws {
    #expect(try await anomalies { $0 == 3 ? nil : $1 } == [.hole])
  }

  @Test func `The last commit without its first or last edits is half a batch`() async throws {
    #expect(
      try await anomalies { $0 == 0 && $1.count > 2 ? Array($1.dropFirst()) : $1 } == [.halfBatch])
    #expect(
      try await anomalies { $0 == 0 && $1.count > 2 ? Array($1.dropLast()) : $1 } == [.halfBatch])
  }

  @Test func `What no commit wrote is wrong data`() async throws {
    #expect(
      try await anomalies { last, edits in
        guard last == 0, case .setMetadata(let ledger, _, _)? = edits.last else { return edits }
        return edits + [.pin(Pin(tree: ledger, path: "nowhere"))]
      } == [.wrongData])
  }

  @Test func `A prefix that is too short has lost an acknowledged commit`() async throws {
    let backend = try Self.open()
    let run = try await CrashRun(
      CrashProgram(seed: 1, strongest: .process, isWhole: false), open: { backend })
    for step in 1...6 { try await run.run(step) }
    var states = run.states
    let last = states.count - 1
    #expect(
      try CrashVerdict(states: states, acknowledged: last, issued: last).state(of: backend) == last)
    states.append(CrashState(model: states[last].model, step: 99))
    let failure = #expect(throws: ConformanceFailure.self) {
      try CrashVerdict(states: states, acknowledged: last + 1, issued: last + 1).state(of: backend)
    }
    #expect(failure?.anomaly == .lostAcknowledged)
    let early = #expect(throws: ConformanceFailure.self) {
      try CrashVerdict(states: states, acknowledged: 0, issued: last - 1).state(of: backend)
    }
    #expect(early?.anomaly == .phantom)
  }
}
