internal import ConiferKeyValue
internal import ConiferStorage

/// Commits whose states are not known one by one, since callers interleave or the backend decides
/// what it keeps. The state after a crash is described by the numbers of the commits that the store
/// holds.
protocol CrashWorkload: Sendable {
  /// What it is called in messages.
  var words: String { get }
  /// How many callers commit, each with numbers from 1.
  var callers: Int { get }

  /// Commits.
  ///
  /// - Parameters:
  ///   - held: the newest commit of each caller.
  ///   - count: how many more commits each makes.
  ///   - isDurable: whether all are made at the strongest durability.
  ///   - issue: gets a caller and its commit's number before the commit.
  ///   - acknowledge: gets both, how many commits in order are acknowledged with this one, and their
  ///   durability.
  func run(
    on backend: any StorageBackend, after held: [Int], _ count: Int, isDurable: Bool,
    issue: @escaping @Sendable (Int, Int) -> Void,
    acknowledge: @escaping @Sendable (Int, Int, Int, Durability) -> Void
  ) async throws

  /// The kinds of edits of a caller's commit.
  func kinds(of number: Int, by caller: Int) throws -> Set<EditKind>

  /// The newest commit of each caller that a store holds.
  ///
  /// - Throws: ``ConformanceFailure`` when they are not a prefix of all commits within the bounds,
  ///   or the store does not hold what it must after them.
  func held(by backend: any StorageBackend, _ bounds: CrashBounds?) throws -> [Int]
}

extension CrashWorkload {
  /// The newest commits before the workload begins: none.
  var nothing: [Int] { [Int](repeating: 0, count: callers) }

  /// Commits without recording for a crash.
  func run(
    on backend: any StorageBackend, after held: [Int], _ count: Int, isDurable: Bool
  ) async throws {
    try await run(
      on: backend, after: held, count, isDurable: isDurable, issue: { _, _ in },
      acknowledge: { _, _, _, _ in })
  }
}

extension BackendFactory {
  /// Opens the backend for a workload: evictions make many commits, and little data is enough for a dictionary.
  func openForWorkload(_ directory: String) throws(StoreError) -> any StorageBackend {
    var options = options
    options.budget = nil
    options.evictionSlice = .zero
    options.leastTraining = NodeStream.leastTraining
    return try open(directory, options)
  }
}

/// Which commits of a workload may be there after a crash.
struct CrashBounds: Sendable {
  /// The number of commits, from the first one in order, that must be there.
  var acknowledged = 0
  /// The newest commit that each caller issued.
  var issued: [Int]

  /// Requires that the commits which a store holds lie within the bounds.
  func require(_ held: [Int], of words: String) throws {
    let total = held.reduce(0, +)
    try StorageConformance.require(
      total >= acknowledged, .lostAcknowledged,
      "\(total) commits of \(words) are there, \(acknowledged) were acknowledged")
    for (caller, (number, issued)) in zip(held, issued).enumerated() {
      try StorageConformance.require(
        number <= issued, .phantom,
        "commit \(number) of caller \(caller) of \(words) is there, \(issued) is the newest it "
          + "asked for")
    }
  }
}
