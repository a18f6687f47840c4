internal import ConiferKeyValue

/// One named check of the contract of `OrderedStore`.
///
/// A backend author shows each by name in a test of their own:
///
///     @Test(arguments: StoreCheck.all(for: factory))
///     func contract(_ check: StoreCheck) async throws { try await check.run(factory) }
///
/// The kit throws ``ConformanceFailure`` and needs no test library itself, so that a program can
/// run it too (``ConformanceReport``).
public struct StoreCheck: Sendable, Identifiable, CustomStringConvertible {
  /// The check's name: the sentence that must be true of the store.
  public let name: String
  /// What the check is about, as reports group it.
  public internal(set) var group = "contract"
  /// Which kind of promise is broken when the check fails and does not say so itself.
  public let anomaly: Anomaly
  private let body: @Sendable (StoreFactory) async throws -> Void

  /// A check.
  ///
  /// - Parameters:
  ///   - name: the sentence that must be true of the store.
  ///   - anomaly: which kind of promise is broken when it is not.
  ///   - body: throws when it is not.
  public init(
    _ name: String, _ anomaly: Anomaly = .broken,
    _ body: @escaping @Sendable (StoreFactory) async throws -> Void
  ) {
    self.name = name
    self.anomaly = anomaly
    self.body = body
  }

  /// The name: checks of one name are one check.
  public var id: String { name }
  /// The name.
  public var description: String { name }

  /// Runs the check on stores in temporary directories, which it removes, and reports the result
  /// where `CONIFER_REPORT` asks for it.
  ///
  /// - Parameter factory: makes the stores.
  /// - Throws: ``ConformanceFailure`` when the store breaks the contract.
  public func run(_ factory: StoreFactory) async throws {
    ReportFile.reportLeftOut(factory.name, tier: 1) { Self.leftOut(for: factory) }
    let run = CheckRun(
      factory: factory.name, tests: factory.tests, tier: 1, group: group, check: name,
      defaultAnomaly: anomaly)
    try await run.perform { try await body(factory) }
  }

  /// Runs the check and returns its result.
  func result(_ factory: StoreFactory) async -> CheckResult {
    let run = CheckRun(
      factory: factory.name, tests: factory.tests, tier: 1, group: group, check: name,
      defaultAnomaly: anomaly)
    return await run.result { try await body(factory) }
  }

  /// Every check that applies to a factory's declared traits.
  ///
  /// `CONIFER_CHECK` in the environment leaves only those whose name contains one of its phrases,
  /// which `|` separates; when no check of the kit has one, a check that fails.
  ///
  /// - Parameter factory: the factory whose traits choose the checks; a trait that is not declared
  ///   is checked to be absent.
  public static func all(for factory: StoreFactory) -> [StoreCheck] {
    if let unknown = Variable.unknownCheck {
      return [StoreCheck("CONIFER_CHECK names a check") { _ in throw unknown }]
    }
    return applying(to: factory).filter { Variable.asksFor($0.name) }
  }

  /// Every check that applies to a factory's declared traits, whatever the environment asks for.
  static func applying(to factory: StoreFactory) -> [StoreCheck] {
    conditional.filter { $0.reason(factory) == nil }.flatMap(\.checks)
  }

  /// The checks for every kind of factory.
  static var every: [StoreCheck] { conditional.flatMap(\.checks) }

  /// The checks that do not apply to a factory, with the reason.
  static func leftOut(for factory: StoreFactory) -> [CheckResult] {
    conditional.flatMap { group in
      guard let reason = group.reason(factory) else { return [CheckResult]() }
      return group.checks.map {
        CheckResult(
          factory: factory.name, tier: 1, group: $0.group, check: $0.name, outcome: .leftOut,
          reason: reason)
      }
    }
  }

  /// Checks of one group with the reason why they do not apply to a factory; nil when they do.
  private struct Conditional {
    let checks: [StoreCheck]
    let reason: (StoreFactory) -> String?

    init(
      _ group: String, _ checks: [StoreCheck],
      _ reason: @escaping (StoreFactory) -> String? = { _ in nil }
    ) {
      self.checks = checks.map { check in
        var check = check
        check.group = group
        return check
      }
      self.reason = reason
    }
  }

  private static var conditional: [Conditional] {
    let forgets = "keeps nothing"
    return [
      Conditional("traits", traits),
      Conditional("traits", measuredTraits) {
        $0.declared.isPersistent ? IOSession.reason : forgets
      }, Conditional("order", order), Conditional("batches", batches),
      Conditional("limits", limits), Conditional("views", views),
      Conditional("durability", durability), Conditional("programs", programs),
      Conditional("suspension", suspension),
      Conditional("durability", persistence) { $0.declared.isPersistent ? nil : forgets },
      Conditional("durability", forgetfulness) {
        $0.declared.isPersistent ? "keeps its data" : nil
      },
      Conditional("processes", ownership) { $0.isExclusive ? nil : forgets },
      Conditional("processes", staleLocks) {
        $0.ownerFile != nil ? nil : $0.declared.isPersistent ? "has no owner file" : forgets
      },
      Conditional("owner", kinds) {
        $0.ownerFile != nil ? nil : $0.declared.isPersistent ? "has no owner file" : forgets
      },
      Conditional("owner", firstOpenings) {
        $0.declared.isPersistent ? IOSession.reason : forgets
      },
      Conditional("power loss", powerLosses) { factory in
        factory.declared.isPersistent ? IOSession.reason : forgets
      },
      Conditional("damage", damages) { $0.declared.isPersistent ? nil : forgets },
      Conditional("faults", faults) { factory in
        guard factory.declared.isPersistent else { return forgets }
        return factory.declared.longestKey < 510 ? "has keys too short" : IOSession.reason
      },
    ]
  }
}
