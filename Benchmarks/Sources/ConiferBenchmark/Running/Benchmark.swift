public import ConiferKeyValue
import Foundation

/// Runs the same operations on every candidate, in turns, at one durability after the other.
public struct Benchmark: Sendable {
  /// Who takes part.
  public let candidates: [Candidate]
  /// How much is done.
  public let plan: Plan
  /// What is measured.
  public let workloads: Set<Workload>

  /// A benchmark of candidates.
  public init(
    _ candidates: [Candidate], plan: Plan = Plan(),
    workloads: Set<Workload> = Set(Workload.allCases)
  ) {
    self.candidates = candidates
    self.plan = plan
    self.workloads = workloads
  }

  /// Runs all rounds; durabilities are never mixed in one table.
  ///
  /// - Parameters:
  ///   - durabilities: of every commit; candidates that cannot do one are left out of its table.
  ///   - directory: where stores are made and removed.
  ///   - progress: called with each trial before it begins.
  ///   - perform: runs a trial, by default in this process; memory figures are only meaningful when
  ///     each trial has a process of its own.
  /// - Throws: `BenchmarkFailure` when candidates do not end with the same data or one loses some.
  public func run(
    _ durabilities: [Durability], in directory: String,
    progress: (Trial) -> Void = { _ in },
    perform: (Trial) async throws -> Outcome = { try await $0.run() }
  ) async throws -> RunRecord {
    var record = RunRecord(plan: plan, machine: Machine.describe(directory))
    for durability in durabilities {
      let present = candidates.filter { $0.strongest >= durability }
      guard !present.isEmpty else { throw BenchmarkFailure.nobody }
      for exercise in exercises(durability, of: durabilities) {
        let taking = present.filter { $0.kind != .variant || exercise == .rooms }
        guard let first = taking.first else { continue }
        // One pass that does not count warms up what all share.
        _ = try await perform(trial(first, durability, exercise, .tiny, 0, directory))
        for round in 0..<plan.rounds {
          // The first candidate of the last round comes last in this one.
          let turn = round % taking.count
          for candidate in taking[turn...] + taking[..<turn] {
            let trial = trial(candidate, durability, exercise, plan, round, directory)
            progress(trial)
            let outcome = try await perform(trial)
            try record.take(outcome)
          }
        }
      }
    }
    record.finished = Date.now.formatted(.iso8601)
    return record
  }

  /// The exercises at a durability: all of them at the strongest one, only rooms at weaker ones.
  /// The others read, or need durable stores.
  private func exercises(_ durability: Durability, of all: [Durability]) -> [Exercise] {
    Exercise.allCases.filter { exercise in
      !exercise.workloads.isDisjoint(with: measured)
        && (durability == all.max() || exercise == .rooms)
    }
  }

  /// Memory is measured while rooms are loaded.
  private var measured: Set<Workload> {
    workloads.contains(.W8) ? workloads.union([.W1]) : workloads
  }

  private func trial(
    _ candidate: Candidate, _ durability: Durability, _ exercise: Exercise, _ plan: Plan,
    _ round: Int, _ directory: String
  ) -> Trial {
    Trial(
      candidate, durability, exercise, plan: plan, round: round, wanted: workloads, in: directory)
  }
}
