internal import ConiferKeyValue
internal import ConiferStorage

/// One promise of the backend contract, and the program that finds out whether a backend keeps it.
///
/// In Swift Testing: `@Test(arguments: BackendCheck.all(for: factory))` and then
/// `try await check.run(factory)`.
public struct BackendCheck: Sendable, CustomStringConvertible {
  /// What a check is about.
  public enum Group: String, Sendable, CaseIterable {
    /// Writes to a tree, and snapshots of it.
    case tree
    /// Removing cached data by a forest of markers, and pins.
    case prune
    /// Tracked queries and their keys.
    case queries
    /// The outbound queue.
    case queue
    /// What records take, and compression.
    case usage
    /// Dictionaries for compression, trained by tidying.
    case dictionaries
    /// Keeping a budget: what goes, in which order, what stays, and what is told of it.
    case eviction
    /// Atomicity, reopening, closing.
    case store
    /// Seeded random programs against the model.
    case programs
    /// Failing and full disks.
    case faults
  }

  /// What it is about.
  public let group: Group
  /// The promise, as a sentence.
  public let name: String
  let body: @Sendable (BackendBench) async throws -> Void

  init(
    _ group: Group, _ name: String, _ body: @escaping @Sendable (BackendBench) async throws -> Void
  ) {
    self.group = group
    self.name = name
    self.body = body
  }

  /// The group and the promise.
  public var description: String { "\(group.rawValue): \(name)" }

  /// Finds out whether a backend keeps the promise, in a new directory that is removed afterwards.
  ///
  /// - Throws: `ConformanceFailure` when it does not; `StoreError` when it refused what it must do.
  public func run(_ factory: BackendFactory) async throws {
    let bench = try BackendBench(factory)
    do {
      try await body(bench)
      await bench.finish()
    } catch {
      await bench.finish()
      throw error
    }
  }

  /// The checks that apply to a backend: those about reopening need a persistent store, those about
  /// compression a compressing one.
  ///
  /// `CONIFER_CHECK` in the environment leaves only those whose description contains its value.
  public static func all(for factory: BackendFactory) -> [BackendCheck] {
    var checks = treeWrites + priorities + keys + largeLeaves + slices
    checks += prunes + pins + queries
    checks += queue + queueStates + queueWindows + usage
    checks += atomicity + lifecycle + programs
    checks += factory.evicts ? evictions : withoutEviction
    if factory.declared.isPersistent { checks += reopening } else { checks += forgetting }
    if factory.declared.isPersistent { checks += faults() }
    if factory.options.compression != .none, !factory.declared.packsBlocks {
      checks += compression + dictionaries
    }
    guard let words = System.variable("CONIFER_CHECK") else { return checks }
    return checks.filter { $0.description.contains(words) }
  }
}
