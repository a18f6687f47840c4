public import Foundation

/// All that a run found: what is kept, compared and reported.
public struct RunRecord: Codable, Sendable {
  /// The version of this form.
  public var format = 1
  /// When it began, and when it ended.
  public var started = Date.now.formatted(.iso8601), finished = ""
  /// What was built, as `CONIFER_COMMIT` says it: a commit, with a plus sign when files differed from it.
  public var commit = ProcessInfo.processInfo.environment["CONIFER_COMMIT"]
  /// How much was done.
  public var plan: Plan
  /// Where.
  public var machine: Machine
  /// Every pass of every candidate.
  public private(set) var outcomes: [Outcome] = []

  init(plan: Plan, machine: Machine) {
    self.plan = plan
    self.machine = machine
  }

  /// Adds a pass.
  ///
  /// - Throws: `BenchmarkFailure.differ` when it ended with other data than another one.
  mutating func take(_ outcome: Outcome) throws {
    let known = outcomes.first {
      $0.exercise == outcome.exercise && $0.durability == outcome.durability
    }
    if let known, known.digests != outcome.digests {
      throw BenchmarkFailure.differ(known.candidate, outcome.candidate, outcome.exercise)
    }
    outcomes.append(outcome)
  }

  /// Reads a record that was kept.
  ///
  /// - Throws: when it is invalid, or of a newer form.
  public init(contentsOf path: String) throws {
    self = try JSONDecoder().decode(
      RunRecord.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    guard format == 1 else {
      throw BenchmarkFailure.process("\(path) is of form \(format); this program knows form 1")
    }
  }

  /// The record as JSON, the same bytes for the same record.
  public var json: Data {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return try encoder.encode(self)
    }
  }
}
