import ConiferKeyValue
import ConiferLog
import ConiferStorage
import StorageConformance
import Testing

@Suite("The kit catches stores that take no account of what the owner's file records")
struct OwnerSelfTests {
  enum Flaw: String, CaseIterable, Sendable {
    /// Begins anew where a store was that lost its files.
    case beginsAnew
    /// Refuses it, and removes what is left.
    case cleansUp
    /// Takes a directory of another kind for its own.
    case takesAnything
    /// Makes its file before it refuses another kind's directory.
    case leavesTraces
    /// Reports another kind's directory as damage.
    case criesDamage
    /// Records no kind.
    case recordsNothing
    /// Refuses a store whose owner's file records nothing.
    case refusesOldStores
    /// Takes a changed line for another kind's.
    case believesChanges
    /// Opens a store beside a changed line, and leaves the line.
    case mendsNothing
    /// Records the kind before it makes its file.
    case recordsTooEarly
  }

  static let catchers: [(Flaw, Anomaly, String)] = [
    (.beginsAnew, .silentLoss, lost), (.cleansUp, .silentLoss, lost),
    (.takesAnything, .wrongError, other), (.leavesTraces, .wrongError, other),
    (.criesDamage, .wrongError, other), (.recordsNothing, .broken, recorded),
    (.refusesOldStores, .refused, recorded), (.believesChanges, .refused, changed),
    (.mendsNothing, .refused, changed), (.beginsAnew, .silentLoss, changed),
    (.recordsTooEarly, .refused, cutOff),
  ]
  static let lost = "A store that lost a file, or all of them, is never begun anew"
  static let other = "A directory of another kind of store is refused and stays as it is"
  static let recorded = "The owner's file records the kind, and one without it blocks nobody"
  static let changed = "A changed bit of the recorded kind keeps nobody from a sound store"
  static let cutOff = "A first opening that is cut off anywhere leaves a store that opens"

  static func factory(_ flaw: Flaw?) -> StoreFactory {
    StoreFactory(
      name: flaw?.rawValue ?? "honest",
      declared: StoreTraits(
        longestKey: 1 << 16, bestValueSize: 16 << 10, writeQuantum: 64, strongest: .power,
        isPersistent: true), ownerFile: "owner"
    ) { (directory) throws(StoreError) in
      let owner = directory + "/owner"
      if flaw == .leavesTraces { try Directory.put([1], at: directory + "/trace") }
      if flaw == .refusesOldStores, try OwnerLock.kind(in: directory) == nil,
        !Directory.isMissing(directory + "/manifest")
      {
        throw StoreError(.damaged, "The owner's file records no kind.")
      }
      let before = try Directory.contents(owner, limit: 512) ?? []
      let recorded = try OwnerLock.kind(in: directory)
      let isChanged =
        before.contains(UInt8(ascii: "\n")) && !before.starts(with: Bytes("pid ".utf8))
        && recorded == nil
      if flaw == .believesChanges, isChanged { throw StoreError(.foreign, "It is another kind's.") }
      if flaw == .recordsTooEarly, Directory.isMissing(owner) {
        try Directory.put(Bytes("kind log log\n".utf8), at: owner)
        Directory.remove(owner)
      }
      do throws(StoreError) {
        let store = try LogStore(at: directory)
        if flaw == .mendsNothing, isChanged { try Directory.put(before, at: owner) }
        if flaw == .recordsNothing { try Directory.put([], at: owner) }
        return store
      } catch {
        let names = try Directory.names(in: directory)
        switch (flaw, error.code) {
        case (.beginsAnew, .damaged):
          for name in names { Directory.remove("\(directory)/\(name)") }
          return try LogStore(at: directory)
        case (.cleansUp, .damaged):
          for name in names { Directory.remove("\(directory)/\(name)") }
          throw error
        case (.takesAnything, .foreign):
          Directory.remove(owner)
          return try LogStore(at: directory)
        case (.criesDamage, .foreign): throw StoreError(.damaged, error.message)
        default: throw error
        }
      }
    }
  }

  @Test("A store that does passes", arguments: [lost, other, recorded, changed, cutOff])
  func honest(_ name: String) async throws {
    let factory = Self.factory(nil)
    let check = try #require(StoreCheck.all(for: factory).first { $0.name == name })
    try await check.run(factory)
  }

  @Test("A flaw is caught by the check that names it", arguments: catchers)
  func caught(_ flaw: Flaw, _ anomaly: Anomaly, _ name: String) async throws {
    let factory = Self.factory(flaw)
    let check = try #require(StoreCheck.all(for: factory).first { $0.name == name })
    let failure = await #expect(throws: ConformanceFailure.self) { try await check.run(factory) }
    #expect(failure?.anomaly == anomaly, "\(failure?.description ?? "not caught")")
  }

  @Test("Every flaw has a check that names it")
  func complete() {
    #expect(Set(Self.catchers.map { $0.0 }) == Set(Flaw.allCases))
  }

  @Test("A store without an owner's file is not asked, and the reason is told")
  func leftOut() {
    var factory = Self.factory(nil)
    factory.ownerFile = nil
    #expect(
      !StoreCheck.all(for: factory).contains {
        [Self.lost, Self.other, Self.changed].contains($0.name)
      })
  }
}
