import ConiferKeyValue
import ConiferLMDB
import StorageConformance
import Testing

@Suite("LMDB keeps the contract of an ordered store")
struct ContractTests {
  static let declared = StoreTraits(
    longestKey: 510, bestValueSize: 4080, writeQuantum: 16384, strongest: .power,
    isPersistent: true)

  static let usual = StoreFactory(
    name: "LMDB", declared: declared, ownerFile: "owner",
    tests: "ConiferLMDBTests.ContractTests"
  ) { (path) throws(StoreError) in try LMDBStore(at: path) }

  /// A map so small that large batches make it grow.
  static let tiny = StoreFactory(
    name: "LMDB with a small map", declared: declared, ownerFile: "owner",
    tests: "ConiferLMDBTests.ContractTests"
  ) { (path) throws(StoreError) in
    try LMDBStore(
      at: path,
      LMDBOptions(
        initialMapSize: 12 << 20, growthFactor: 1.1, readerSlots: 64, patience: .milliseconds(200)))
  }

  @Test("The kit passes", arguments: StoreCheck.all(for: usual))
  func contract(_ check: StoreCheck) async throws { try await check.run(Self.usual) }

  @Test("The kit passes while the map grows", arguments: StoreCheck.all(for: tiny))
  func growing(_ check: StoreCheck) async throws { try await check.run(Self.tiny) }
}
