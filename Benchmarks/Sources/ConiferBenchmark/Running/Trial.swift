public import ConiferKeyValue
import Foundation

/// One candidate, one exercise, once: in a directory of its own, which is removed at the end.
public struct Trial: Sendable {
  /// Who.
  public let candidate: Candidate
  /// The durability of every commit.
  public let durability: Durability
  /// What.
  public let exercise: Exercise
  /// How much.
  public let plan: Plan
  /// The round, from 0.
  public let round: Int
  /// Which of the exercise's workloads are measured; the others run as far as those need them.
  public let wanted: Set<Workload>
  let directory: String

  /// A trial.
  ///
  /// - Parameter parent: where a directory is made and removed.
  public init(
    _ candidate: Candidate, _ durability: Durability, _ exercise: Exercise, plan: Plan,
    round: Int = 0, wanted: Set<Workload> = Set(Workload.allCases), in parent: String
  ) {
    self.candidate = candidate
    self.durability = durability
    self.exercise = exercise
    self.plan = plan
    self.round = round
    self.wanted = wanted
    directory = "\(parent)/conifer-bench-\(UUID().uuidString)"
  }

  var storeDirectory: String { directory + "/store" }

  /// Runs it in this process.
  ///
  /// - Throws: `BenchmarkFailure` when data is lost, and what the engine throws.
  public func run() async throws -> Outcome {
    try FileManager.default.createDirectory(
      atPath: storeDirectory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var outcome = Outcome(
      candidate: candidate.name, kind: candidate.kind, durability: "\(durability)",
      exercise: exercise, round: round)
    let (start, before, sent) = (
      ContinuousClock.now, SystemFigures.processorTime, SystemFigures.sentToMedium
    )
    switch exercise {
    case .rooms: try await runRooms(&outcome)
    case .few: try await runFew(&outcome)
    case .many: try await runMany(&outcome)
    case .window: try await runWindow(&outcome)
    case .eviction: try await runEviction(&outcome)
    case .updates: try await runUpdates(&outcome)
    case .deletions: try await runDeletions(&outcome)
    case .stream: try await runStream(&outcome)
    case .snapshots: try await runSnapshots(&outcome)
    }
    outcome.measurements.removeAll { !wanted.contains($0.workload) }
    outcome.seconds = (ContinuousClock.now - start).seconds
    let after = SystemFigures.processorTime
    let machine = max(after.machine - before.machine, 1e-9)
    let others = machine - (after.own - before.own)
    let capacity = outcome.seconds * Double(ProcessInfo.processInfo.activeProcessorCount)
    outcome.othersShare = min(1, max(0, others / max(capacity, 1e-9)))
    outcome.sentToMedium = SystemFigures.sentToMedium - sent
    outcome.peakMemory = SystemFigures.peakMemory
    return outcome
  }

  /// Does something with the store open; it is closed however that ends.
  func withEngine<R>(_ body: (any Engine) async throws -> R) async throws -> R {
    let engine = try await candidate.open(storeDirectory, durability)
    do {
      let result = try await body(engine)
      try await engine.close()
      return result
    } catch {
      try? await engine.close()
      throw error
    }
  }

  /// Fails the run unless a candidate gave back what it had been given.
  func require(_ isRight: Bool, _ what: @autoclosure () -> String) throws {
    if !isRight { throw BenchmarkFailure.lost(candidate.name, what()) }
  }

  func wants(_ workload: Workload) -> Bool { wanted.contains(workload) }
}
