import ConiferKeyValue
import ConiferStorage
import Testing

@testable import StorageConformance

/// A report of lost commits excuses as many as it counts.
@Suite struct LostCountTests {
  private static let kept = 6

  /// The verdict on a store without its newest commits that says how many it lost.
  ///
  /// - Parameter kept: how many commits it lacks.
  private func verdict(told: UInt64?, kept: Int = kept) async throws -> DamageVerdict {
    let factory = Tested.memory(.none)
    let judge = try DamageComparison(factory)
    let (commits, models) = try judge.sample.story()
    let backend = try StorageConfiguration.memory().open()
    for tree in try #require(models.last).trees.values.sorted(by: { $0.info.id < $1.info.id }) {
      let found = try await backend.tree(named: tree.info.name, order: tree.info.order)
      try #require(found == tree.info.id)
    }
    for edits in commits.dropLast(kept) { _ = try await backend.commit(edits, .relaxed) }
    if let told {
      let report = Incident(
        kind: .recordSetAside, tree: TreeID(rawValue: 0), place: LostCommits.words(told), bytes: [])
      _ = try await backend.commit([.report(report)], .relaxed)
    }
    return await judge.verdict(backend)
  }

  @Test func `A count that covers what is missing tells it`() async throws {
    for told in [UInt64(Self.kept), UInt64(Self.kept) + 3] {
      #expect(try await verdict(told: told) == .told)
    }
  }

  @Test func `A count far above what is missing is a wrong report`() async throws {
    for (told, kept) in [(200, Self.kept), (.max, Self.kept), (200, 0), (.max, 0)]
      as [(UInt64, Int)]
    {
      let verdict = try await verdict(told: told, kept: kept)
      guard case .broken(.wrongReport, _) = verdict else {
        Issue.record("\(told) of \(kept): \(verdict)")
        continue
      }
    }
  }

  @Test func `A smaller count leaves the rest untold`() async throws {
    for told in [1, 2] as [UInt64] {
      let verdict = try await verdict(told: told)
      guard case .broken(.silentLoss, _) = verdict else {
        Issue.record("\(told): \(verdict)")
        continue
      }
    }
    #expect(try await verdict(told: nil) == .older)
  }
}
