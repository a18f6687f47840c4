import Foundation
import Testing

/// Two clients and a server do what a seed says; at rest all agree.
///
/// `CONIFER_SEED` names the first seed, `CONIFER_PROGRAMS` says how many run, `CONIFER_BACKEND` names one
/// backend and `CONIFER_STEPS` the steps that run; `CONIFER_TRACE` shows all that happens, and with
/// `CONIFER_RACE` the clients work at the same time, so that a seed gives no longer the same.
@Suite struct RandomTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static var stores: [Store] {
    // One that there is none of runs them all.
    environment["CONIFER_BACKEND"].flatMap { Store(rawValue: $0) }.map { [$0] } ?? Store.allCases
  }
  /// Programs that run one after the other; a thousand of them would keep one processor busy when
  /// all other tests have ended.
  struct Share: Sendable, CustomTestStringConvertible {
    let store: Store
    var part = 0
    var parts = 1
    let seeds: [UInt64]

    var testDescription: String { parts == 1 ? store.rawValue : "\(store.rawValue) \(part)" }
  }
  private static var shares: [Share] {
    stores.flatMap { store in
      let seeds = seeds(store == .memory ? 1000 : 20)
      // None is without a program, or it would pass for nothing.
      let parts = store == .memory ? min(8, seeds.count) : 1
      return (0..<parts).map { part in
        let own = stride(from: part, to: seeds.count, by: parts).map { seeds[$0] }
        return Share(store: store, part: part, parts: parts, seeds: own)
      }
    }
  }
  private static func seeds(_ usual: UInt64) -> [UInt64] {
    let first = environment["CONIFER_SEED"].flatMap { UInt64($0) } ?? 1
    let count = environment["CONIFER_PROGRAMS"].flatMap { UInt64($0) } ?? usual
    return Array(first..<(first + max(1, count)))
  }
  private static var isRacing: Bool { environment["CONIFER_RACE"] != nil }

  /// With kills between any two commits; a thousand seeds in memory, and some of them in files, which
  /// the next process finds as the killed one left them.
  @Test(arguments: shares)
  func
    `At rest all agree, nothing is lost, and listeners saw a legal sequence, also of killed processes`(
      _ share: Share
    ) async throws
  {
    var mode = TwoClients.Mode(canKill: true)
    mode.isRacing = Self.isRacing
    try await Self.run(share, mode)
  }

  @Test(arguments: stores)
  func `At rest all agree, nothing is lost, and listeners saw a legal sequence`(
    _ store: Store
  ) async throws {
    var mode = TwoClients.Mode()
    mode.isRacing = Self.isRacing
    try await Self.run(Share(store: store, seeds: Self.seeds(5)), mode)
  }

  private static func run(_ share: Share, _ mode: TwoClients.Mode) async throws {
    let store = share.store
    let chosen = environment["CONIFER_STEPS"].map {
      $0.split(separator: ",").compactMap { Int($0) }
    }
    for seed in share.seeds {
      var mode = mode
      mode.isTracing = environment["CONIFER_TRACE"] != nil
      if mode.isTracing { print("seed \(seed)") }
      let all = Array(
        Program(seed, length: mode.canKill ? 20 : 80, canKill: mode.canKill).steps.enumerated())
      let steps = chosen.map { chosen in all.filter { chosen.contains($0.offset) } } ?? all
      let faults = try await TwoClients(seed, store, mode).run(steps.map(\.element))
      guard !faults.isEmpty else { continue }
      mode.isTracing = false
      let least = try await shrunk(steps) { steps in
        try await !TwoClients(seed, store, mode).run(steps.map(\.element)).isEmpty
      }
      Issue.record(
        """
        seed \(seed) on \(store.rawValue): \(faults.joined(separator: "\n"))
        It goes wrong with these \(least.count) of \(all.count) steps as well:
        \(least.map { "  \($0.offset): \($0.element)" }.joined(separator: "\n"))
        CONIFER_BACKEND=\(store.rawValue) CONIFER_SEED=\(seed) CONIFER_PROGRAMS=1 \
        CONIFER_STEPS=\(least.map { "\($0.offset)" }.joined(separator: ","))
        """)
      return
    }
  }
}
