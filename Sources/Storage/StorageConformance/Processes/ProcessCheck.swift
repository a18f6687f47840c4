internal import ConiferKeyValue
internal import ConiferStorage

/// One promise of a backend that needs a second process to check: who owns a store, what a dead
/// owner leaves behind, and how damaged files behave, even when they kill the process.
///
/// The kit cannot start a process that knows a test's factory, so the test provides an exit test:
///
///     @Test(arguments: ProcessCheck.all(for: factory()))
///     func processes(_ check: ProcessCheck) async throws {
///       try await check.run(factory()) { order in
///         await #expect(processExitsWith: order.signal == 0 ? .success : .signal(order.signal)) {
///           [order = order as ProcessOrder] in
///           await ProcessCheck.child(factory(), order)
///         }
///       }
///     }
public struct ProcessCheck: Sendable, CustomStringConvertible {
  /// What the check is about: `processes`, `damage`.
  public let group: String
  /// The promise, as a sentence.
  public let name: String
  let anomaly: Anomaly
  let parent: @Sendable (ProcessTrial) async throws -> Void
  let child: @Sendable (ChildTrial) async throws -> Void

  /// The group and the promise.
  public var description: String { "\(group): \(name)" }

  /// Finds out whether a backend keeps the promise, and reports the result where `CONIFER_REPORT`
  /// asks for it.
  ///
  /// - Parameters:
  ///   - factory: makes the backends.
  ///   - start: runs ``child(_:_:)`` in a process of its own and waits for it.
  /// - Throws: ``ConformanceFailure`` when it does not.
  public func run(
    _ factory: BackendFactory, _ start: @escaping @Sendable (ProcessOrder) async -> Void
  ) async throws {
    let run = CheckRun(
      factory: "\(factory)", tests: factory.tests, tier: 2, group: group, check: name,
      defaultAnomaly: anomaly)
    try await run.perform {
      let directory = try System.makeTemporaryDirectory()
      defer { System.removeTree(directory) }
      try await parent(
        ProcessTrial(factory: factory, directory: directory, check: name, start: start))
    }
  }

  /// Does a second process's part of a check; the process ends during it or after it.
  ///
  /// - Parameters:
  ///   - factory: the one that the check is run on.
  ///   - order: the order that the check's closure got.
  public static func child(_ factory: BackendFactory, _ order: ProcessOrder) async {
    let trial = ChildTrial(factory: factory, order: order)
    do {
      guard let check = every.first(where: { $0.name == order.check }) else {
        throw ConformanceFailure("there is no check of this name: \(order.check)")
      }
      try await check.child(trial)
    } catch {
      let name = ConformanceFailure.anomaly(of: error).rawValue
      let message = (error as? ConformanceFailure)?.message ?? "\(error)"
      trial.note("failed \(name)\t\(message)")
    }
  }

  /// The checks that apply to a backend.
  ///
  /// `CONIFER_CHECK` in the environment leaves only those whose description contains one of its phrases,
  /// which `|` separates; when no check of the kit has one, a check that fails.
  public static func all(for factory: BackendFactory) -> [ProcessCheck] {
    if let unknown = Variable.unknownCheck {
      return [
        ProcessCheck(
          group: "processes", name: "CONIFER_CHECK names a check", anomaly: .broken,
          parent: { _ in throw unknown }, child: { _ in })
      ]
    }
    return conditional.filter { $0.reason(factory) == nil }.flatMap(\.checks).filter {
      Variable.asksFor($0.description)
    }
  }

  /// The checks for every kind of factory.
  static var every: [ProcessCheck] { conditional.flatMap(\.checks) }

  /// The checks that do not apply to a factory, with the reason.
  static func leftOut(for factory: BackendFactory) -> [CheckResult] {
    conditional.flatMap { group in
      guard let reason = group.reason(factory) else { return [CheckResult]() }
      return group.checks.map {
        CheckResult(
          factory: "\(factory)", tier: 2, group: $0.group, check: $0.name, outcome: .leftOut,
          reason: reason)
      }
    }
  }

  /// Checks with the reason why they do not apply to a factory; nil when they do.
  private struct Conditional {
    let checks: [ProcessCheck]
    let reason: (BackendFactory) -> String?
  }

  private static var conditional: [Conditional] {
    [
      Conditional(checks: ownership + forks + damages) {
        $0.declared.isPersistent ? nil : "keeps nothing"
      }
    ]
  }
}
