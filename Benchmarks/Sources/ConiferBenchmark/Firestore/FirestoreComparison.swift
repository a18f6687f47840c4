import ConiferDocumentServer
import ConiferFirestore
import ConiferKeyValue
import ConiferStorage
import Foundation

/// Measures the client of documents as an app sees it: what its listeners hear and when, and what it costs above its
/// backend.
///
/// Each round has every backend do all of it. Times are by the clock and by the processor; the processor's are of the
/// whole process, but of a load, in which the server works in the same process: there they are of the engine's thread.
public struct FirestoreComparison: Sendable {
  /// How much is done.
  public struct Plan: Codable, Sendable {
    /// Documents in rooms of 100 that a server tells; each room is a target.
    public var documents = 100_000
    /// Documents of the one query of many.
    public var many = 10_000
    /// How often each is measured.
    public var rounds = 5
    /// Writes, and listeners that begin, in each round.
    public var repetitions = 100
    /// Listeners on one collection.
    public var listeners = 1000
    /// Writes that wait elsewhere while listeners begin and hear.
    public var pending = 10_000
    /// Writes that wait when a database is opened.
    public var queued = 100_000

    /// The sizes that are asked for.
    public init() {}

    /// Smaller ones, for the order of things.
    public static var quick: Plan {
      var plan = Plan()
      (plan.documents, plan.many, plan.repetitions, plan.queued) = (20_000, 5000, 50, 20_000)
      return plan
    }

    /// Hardly anything: shows that everything runs.
    public static var tiny: Plan {
      var plan = Plan()
      (plan.documents, plan.many, plan.rounds, plan.repetitions) = (500, 200, 1, 3)
      (plan.listeners, plan.pending, plan.queued) = (5, 50, 100)
      return plan
    }
  }

  let plan: Plan
  private let directory: String
  private let backends: [ClientComparison.Backend]
  private let progress: @Sendable (String) -> Void

  /// A comparison.
  ///
  /// - Parameter directory: where stores are made and removed.
  public init(
    _ backends: [ClientComparison.Backend], in directory: String, plan: Plan,
    progress: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.backends = backends
    self.directory = "\(directory)/firestore-\(UUID().uuidString)"
    self.plan = plan
    self.progress = progress
  }

  /// Measures all of it.
  ///
  /// - Throws: also when a listener hears an error or other documents than there are.
  public func run() async throws -> FirestoreRecord {
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var record = FirestoreRecord(
      machine: .describe(directory), plan: plan, backends: backends.map(\.name))
    let sample = try SampleRooms(count: plan.documents, archived: plan.many, seed: 21)
    let server = try DocumentServer()
    progress("the server gets its documents")
    for (_, documents) in sample.collections {
      for start in stride(from: 0, to: documents.count, by: 500) {
        try await server.commit(
          SampleRooms.writes(documents[start..<min(start + 500, documents.count)]),
          in: SampleRooms.database)
      }
    }
    var candidates: [FirestoreCandidate] = []
    for backend in backends {
      candidates.append(
        FirestoreCandidate(
          backend, in: "\(directory)/\(backend.name)", plan: plan, sample: sample, server: server))
    }
    for round in 0..<plan.rounds {
      let first = round % max(1, candidates.count)
      for candidate in candidates[first...] + candidates[..<first] {
        try await candidate.measure(
          round, into: &record,
          progress: { progress("round \(round + 1): \(candidate.name) \($0)") })
      }
    }
    for candidate in candidates { try await candidate.close() }
    try await server.close()
    return record
  }
}
