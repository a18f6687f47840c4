internal import ConiferKeyValue

/// One way in which a store may break its contract, which the kit must see.
///
/// The kit lays the fault over an author's own store, and one of its checks must fail then:
///
///     @Test(arguments: StoreMutation.all(for: factory))
///     func mutation(_ mutation: StoreMutation) async throws { try await mutation.run(factory) }
///
/// Source: mutation testing, after DeMillo, Lipton and Sayward, "Hints on Test Data Selection" (1978).
public struct StoreMutation: Sendable, Identifiable, CustomStringConvertible {
  /// What the broken store does: a sentence.
  public let name: String
  /// The part of the contract that it breaks.
  public let group: String
  let fault: Fault
  /// The checks that must see it, by name, the cheapest first.
  let checks: [String]

  /// The name: mutations of one name are one mutation.
  public var id: String { name }
  /// The name.
  public var description: String { name }

  /// Every mutation that applies to a factory's stores and is asked for.
  ///
  /// `CONIFER_MUTATIONS=all` in the environment asks for all of them; without it those are left out
  /// whose checks cut the power or make the disk fail, which take seconds each. `CONIFER_CHECK`
  /// leaves only those whose name contains one of its phrases, which `|` separates.
  ///
  /// - Parameter factory: makes the stores that are broken.
  public static func all(for factory: StoreFactory) -> [StoreMutation] {
    if let unknown = Variable.unknownCheck ?? Variable.unknownMutations {
      return [StoreMutation(unknown)]
    }
    return every.filter {
      $0.reason(factory) == nil && Variable.asksFor($0.name)
        && (Variable.asksForAllMutations || !$0.isLong)
    }
  }

  /// Lays the fault over a factory's stores and runs the kit's checks, until one fails; reports the
  /// result where `CONIFER_REPORT` asks for it, in `mutations.jsonl`.
  ///
  /// A check counts that fails while the fault happens, and passes over the same store without it.
  ///
  /// - Parameter factory: makes the stores.
  /// - Throws: ``ConformanceFailure`` when no check sees the fault, or when it never happens.
  public func run(_ factory: StoreFactory) async throws {
    ReportFile.reportLeftOut(factory.name, tier: 0, to: "mutations") {
      Self.leftOut(for: factory)
    }
    let result = await result(factory)
    ReportFile.append(result, to: "mutations")
    guard result.outcome == .failed else { return }
    throw ConformanceFailure(result.anomaly ?? .broken, result.reason ?? name)
  }

  /// Looks for a check that sees the fault, and returns which one as the result's reason.
  func result(_ factory: StoreFactory) async -> CheckResult {
    let run = CheckRun(
      factory: factory.name, tests: factory.tests, tier: 1, group: group, check: name,
      defaultAnomaly: .missed)
    var found: CheckResult?
    var result = await run.result { found = try await MutationSearch(self, factory).catching() }
    if let found, result.outcome == .passed {
      result.reason = found.check
      result.anomaly = found.anomaly
    }
    return result
  }

  /// The mutations that do not apply to a factory, with the reason.
  static func leftOut(for factory: StoreFactory) -> [CheckResult] {
    every.compactMap { mutation in
      guard let reason = mutation.reason(factory) else { return nil }
      return CheckResult(
        factory: factory.name, tier: 1, group: mutation.group, check: mutation.name,
        outcome: .leftOut, reason: reason)
    }
  }

  init(_ name: String, _ group: String, _ fault: Fault, _ checks: String...) {
    self.name = name
    self.group = group
    self.fault = fault
    self.checks = checks
  }

  /// A mutation that fails, for a variable that is wrong.
  private init(_ failure: ConformanceFailure) {
    self.init("The variables name mutations", "variables", .variable(failure))
  }

  /// Whether the checks that must see it cut the power, or make the disk fail.
  private var isLong: Bool {
    checks.contains { $0 == Self.powerLoss || $0.hasPrefix(Self.failingDisk) }
  }

  /// Why it does not apply to a factory's stores, or nil.
  private func reason(_ factory: StoreFactory) -> String? {
    let declared = factory.declared
    if isLong, let reason = IOSession.reason { return reason }
    if fault.needsFiles, !declared.isPersistent { return "keeps nothing" }
    switch fault {
    case .commits(let fault) where fault.isOfPower && declared.strongest < .power:
      return "promises nothing for power loss"
    case .commits(.takesEveryLevel) where declared.strongest == .power:
      return "takes every level rightly"
    case .failures(let fault) where fault.isOfKeys && declared.longestKey >= 1 << 20:
      return "has no limit of keys"
    case .life(.letsTwoIn), .life(.hidesOwner):
      return factory.isExclusive ? nil : "has no owner"
    default: return nil
    }
  }
}

extension Anomaly {
  /// No check saw a fault that happened.
  static let missed = Anomaly(rawValue: "missed fault")
  /// A fault did not happen in any check.
  static let neverHappened = Anomaly(rawValue: "fault that never happened")
}
