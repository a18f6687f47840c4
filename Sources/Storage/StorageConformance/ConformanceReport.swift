/// What the kit found about one kind of store, for programs that are no tests.
public struct ConformanceReport: Sendable {
  /// The outcome of one check.
  public struct Result: Sendable {
    /// The check's name.
    public let check: String
    /// What broke, nil when the check passed.
    public let failure: String?
  }

  /// The kind of store.
  public let factory: String
  /// One result a check, in the order of the kit.
  public let results: [Result]

  /// Whether every check passed.
  public var isPassed: Bool { results.allSatisfy { $0.failure == nil } }

  /// Runs every check that applies to a factory, one after the other.
  ///
  /// - Parameter factory: makes the stores.
  public static func make(for factory: StoreFactory) async -> ConformanceReport {
    var results: [Result] = []
    for check in StoreCheck.all(for: factory) {
      do {
        try await check.run(factory)
        results.append(Result(check: check.name, failure: nil))
      } catch {
        results.append(Result(check: check.name, failure: "\(error)"))
      }
    }
    return ConformanceReport(factory: factory.name, results: results)
  }
}
