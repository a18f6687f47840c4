/// A report of the kit's results for one kind of store or backend, for programs that are not tests.
public struct ConformanceReport: Sendable {
  /// The kind of store or backend.
  public let factory: String
  /// One result a check, in the order of the kit; then those that do not apply.
  public let results: [CheckResult]

  /// Whether every check that applies passed.
  public var isPassed: Bool { results.allSatisfy { $0.outcome != .failed } }

  /// The results as lines of JSON, as `CONIFER_REPORT` gets them.
  public var json: String { results.map { $0.json + "\n" }.joined() }

  /// Runs every check that applies to a store, one after the other.
  ///
  /// - Parameter factory: makes the stores.
  public static func make(for factory: StoreFactory) async -> ConformanceReport {
    var results: [CheckResult] = []
    for check in StoreCheck.all(for: factory) { results.append(await check.result(factory)) }
    return ConformanceReport(
      factory: factory.name, results: results + StoreCheck.leftOut(for: factory))
  }

  /// Runs every check that applies to a backend, one after the other.
  ///
  /// - Parameter factory: makes the backends.
  public static func make(for factory: BackendFactory) async -> ConformanceReport {
    var results: [CheckResult] = []
    for check in BackendCheck.all(for: factory) { results.append(await check.result(factory)) }
    return ConformanceReport(
      factory: "\(factory)", results: results + BackendCheck.leftOut(for: factory))
  }
}
