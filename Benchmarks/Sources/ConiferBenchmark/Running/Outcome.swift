/// One candidate's pass through one exercise.
public struct Outcome: Codable, Sendable {
  /// The candidate's name.
  public var candidate: String
  /// What it takes part as.
  public var kind: Candidate.Kind
  /// The durability's name.
  public var durability: String
  /// The exercise.
  public var exercise: Exercise
  /// The round, from 0.
  public var round: Int
  /// What was measured.
  public var measurements: [Measurement] = []
  /// The checksum at the end of each part; equal for all candidates.
  var digests: [Digest] = []
  /// Seconds that it took.
  public var seconds = 0.0
  /// The part of the machine's processor time that others took meanwhile, from 0 to 1.
  public var othersShare = 0.0
  /// Bytes that the system sent to a medium for it.
  public var sentToMedium = 0
  /// The most memory that it had in RAM, in bytes.
  public var peakMemory = 0

  /// Takes a figure over.
  mutating func add(_ measurement: Measurement) { measurements.append(measurement) }

  /// Takes over a figure that is no time.
  mutating func add(
    _ id: String, _ workload: Workload, _ title: String, _ value: Double, _ unit: String
  ) {
    add(
      Measurement(
        id: id, title: title, workload: workload, value: value, unit: unit, isRate: false))
  }
}

/// Why a run's figures count for nothing.
public enum BenchmarkFailure: Error, CustomStringConvertible {
  /// A candidate returned other data than it was given.
  case lost(String, String)
  /// Two candidates do not hold the same at the end.
  case differ(String, String, Exercise)
  /// No candidate takes part.
  case nobody
  /// A trial in a process of its own failed.
  case process(String)

  /// The failure in words.
  public var description: String {
    switch self {
    case .lost(let name, let what): "\(name) lost data, its figures would mean nothing: \(what)"
    case .differ(let a, let b, let exercise):
      "\(a) and \(b) do not hold the same after the same operations of \(exercise.rawValue)"
    case .nobody: "no candidate can do this durability"
    case .process(let words): words
    }
  }
}
