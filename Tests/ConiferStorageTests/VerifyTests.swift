import ConiferKeyValue
import ConiferTree
import Synchronization
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// The check of a whole store finds nothing in a sound one, changes nothing, and sees each rule of
/// the records broken.
@Suite struct VerifyTests {
  typealias Kind = VerificationReport.Finding.Kind

  static func report(_ store: MemoryStore) throws -> VerificationReport {
    let before = try DamageTests.records(store)
    let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
    let report = try backend.verify()
    let after = try DamageTests.records(store)
    #expect(before.count == after.count && zip(before, after).allSatisfy { $0 == $1 })
    return report
  }

  @Test func `A sound store is told to be sound, with what was counted`() async throws {
    let report = try Self.report(try await DamageTests.filled())
    #expect(report.isSound, "\(report.findings)")
    #expect(report.counts.trees == 1 && report.counts.queries == 8 && report.counts.pins == 1)
    #expect(report.counts.writes == 5 && report.counts.finishedWrites == 1)
    #expect(report.counts.largeLeaves == 1 && report.counts.deltas > 0)
    #expect(report.counts.leaves == DamageTests.rooms * 121 + 1 && report.counts.unknown == 0)
    #expect(report.counts.trackedKeys == 2)
  }

  @Test func `A changed byte in any record is found`() async throws {
    let original = try await DamageTests.filled()
    for record in try DamageTests.records(original) {
      let store = try DamageTests.copy(original)
      try store.damage(record.space, record.key)
      let place = "space \(record.space.id), key \(Damage.hex(record.key))"
      guard let backend = try? MemoryBackend(store, name: "memory", options: StorageOptions())
      else {
        #expect(record.space == Spaces.system, "not opened: \(place)")
        continue
      }
      let report = try backend.verify()
      #expect(report.findings.contains { $0.kind == .checksum }, "\(place)")
    }
  }

  @Test func `A record that is gone is missed, but for those that nothing needs`() async throws {
    let original = try await DamageTests.filled()
    // The opening tells of what it looks at itself.
    let lookedAt = RecordGroup.allCases.flatMap(\.spaces) + [Spaces.usage]
    for record in try DamageTests.records(original)
    where record.space != Spaces.system && !lookedAt.contains(record.space) {
      let store = try DamageTests.copy(original)
      var batch = Batch()
      batch.delete(record.space, record.key)
      _ = try store.apply(batch, .relaxed)
      #expect(
        try !Self.report(store).isSound, "space \(record.space.id), \(Damage.hex(record.key))")
    }
  }

  @Test func `Records of later versions are counted and are no findings`() async throws {
    let store = try await DamageTests.filled()
    var batch = Batch()
    let key = StoreKey.prefix(TreeID(rawValue: 1)) + [1]
    batch.put(Space(id: 99, shape: .rows), key, [1, 2, 3])
    _ = try store.apply(batch, .relaxed)
    let report = try Self.report(store)
    #expect(report.isSound && report.counts.unknown == 1)
  }

  @Test func `A disk that does not answer ends the check, and is no finding`() async throws {
    let store = ProbeStore(try await DamageTests.filled())
    let backend = try PackedBackend(store, name: "probe", options: StorageOptions())
    let tree = TreeID(rawValue: 1)
    let query = try #require(
      try store.base.keys(Spaces.queries).first { $0.count == 12 && StoreKey.tree($0) == tree })
    // The row of counts is read first for how much there is to do; a query is read for its record, then for its index.
    for (space, key, before) in [
      (Spaces.usage, StoreKey.prefix(tree), 0), (Spaces.queries, query, 1),
    ] {
      store.readingsBefore.withLock { $0 = before }
      store.unreadable.withLock { $0 = StoreError.Place(space: space.id, key: key) }
      var code: StoreError.Code?
      do throws(StoreError) { _ = try backend.verify() } catch { code = error.code }
      #expect(code == .io, "space \(space.id)")
    }
    #expect(try backend.verify().isSound)
    try await backend.close()
  }

  @Test(arguments: Breach.all)
  func `Every rule is checked`(breach: Breach) async throws {
    let store = try await DamageTests.filled()
    // Usage is put right, so that the rule itself is what is seen.
    try breach.commit(store)
    let report = try Self.report(store)
    #expect(
      report.findings.contains { $0.kind == breach.kind && $0.description.contains(breach.words) },
      "\(breach.name): \(report.findings)")
  }
}
