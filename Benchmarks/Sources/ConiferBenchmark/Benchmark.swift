public import ConiferKeyValue
import ConiferStorage
import Foundation
import Histogram

/// How much is done, and how often.
public struct Plan: Sendable, Codable {
  /// Rooms of 400 leaves.
  public var rooms = 250
  /// Reads of one leaf; a tenth of that of whole rooms.
  public var reads = 2000
  /// Queued writes; four times as many by sixteen writers.
  public var writes = 400
  /// Passes over every candidate; figures are medians.
  public var rounds = 5
  /// Of the data.
  public var seed: UInt64 = 2026

  /// 100,000 leaves, five rounds.
  public init() {}

  /// Enough to see that everything runs; its figures say little.
  public static var quick: Plan {
    var plan = Plan()
    (plan.rooms, plan.reads, plan.writes, plan.rounds) = (10, 100, 40, 1)
    return plan
  }

  var compression: Compression { .standard }
}

/// Runs the same operations on every candidate, in turns, at one durability.
public struct Benchmark: Sendable {
  /// Who takes part.
  public let candidates: [Candidate]
  /// How much is done.
  public let plan: Plan

  /// A benchmark of candidates.
  public init(_ candidates: [Candidate], plan: Plan = Plan()) {
    self.candidates = candidates
    self.plan = plan
  }

  /// Runs all rounds at one durability; levels are never mixed in one table.
  ///
  /// - Parameters:
  ///   - durability: of every commit; candidates that cannot do it are left out.
  ///   - directory: where stores are made and removed.
  ///   - progress: is told of each pass before it begins.
  /// - Throws: `BenchmarkFailure` when candidates do not end with the same data.
  public func run(
    _ durability: Durability, in directory: String,
    progress: (_ candidate: String, _ round: Int) -> Void = { _, _ in }
  ) async throws -> BenchmarkTable {
    let present = candidates.filter { $0.strongest >= durability }
    guard let first = present.first else { throw BenchmarkFailure.nobody }
    var outcomes: [String: [Trial.Outcome]] = [:]
    // One pass that does not count warms up what all share.
    _ = try await trial(first, durability, directory, plan: .quick)
    for round in 0..<plan.rounds {
      // Whoever came first in the last round comes last in this one.
      let turn = round % present.count
      for candidate in present[turn...] + present[..<turn] {
        progress(candidate.name, round)
        let outcome = try await trial(candidate, durability, directory, plan: plan)
        for (name, known) in outcomes { try Self.agree(name, known, candidate.name, outcome) }
        outcomes[candidate.name, default: []].append(outcome)
      }
    }
    return BenchmarkTable(
      durability: durability,
      rows: present.map { Self.row($0.name, outcomes[$0.name] ?? []) })
  }

  /// Fails unless two candidates hold the same at the end.
  static func agree(
    _ name: String, _ known: [Trial.Outcome], _ other: String, _ outcome: Trial.Outcome
  ) throws {
    if known.contains(where: { $0.state != outcome.state }) {
      throw BenchmarkFailure.differ(name, other)
    }
  }

  private func trial(
    _ candidate: Candidate, _ durability: Durability, _ directory: String, plan: Plan
  ) async throws -> Trial.Outcome {
    let own = "\(directory)/conifer-bench-\(UUID().uuidString)"
    return try await Trial(
      candidate: candidate, durability: durability, plan: plan, directory: own
    ).run()
  }

  private static func row(_ name: String, _ outcomes: [Trial.Outcome]) -> BenchmarkTable.Row {
    var row = BenchmarkTable.Row(candidate: name)
    row.liveBytesPerLeaf = median(outcomes.map(\.liveBytesPerLeaf))
    row.fileBytesPerLeaf = median(outcomes.map(\.fileBytesPerLeaf))
    for workload in Workload.allCases {
      let samples = outcomes.compactMap { $0.samples[workload] }
      let rates = samples.map(\.rate).sorted()
      func latency(_ percentile: Double) -> Double {
        median(samples.map { Double($0.latencies.valueAtPercentile(percentile)) / 1000 })
      }
      row.figures.append(
        BenchmarkTable.Figure(
          workload: workload, rate: median(rates), lowest: rates.first ?? 0,
          highest: rates.last ?? 0, p50: latency(50), p99: latency(99), max: latency(100)))
    }
    return row
  }

  static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard let middle = sorted.dropFirst(sorted.count / 2).first else { return 0 }
    return sorted.count % 2 == 1 ? middle : (middle + sorted[sorted.count / 2 - 1]) / 2
  }
}
