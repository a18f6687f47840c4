import ConiferKeyValue
import ConiferStorage
import StorageConformance
import Testing

@Suite("The memory store keeps the contract of an ordered store")
struct MemoryStoreContractTests {
  static let factory = StoreFactory(
    name: "Memory",
    declared: StoreTraits(
      longestKey: .max, bestValueSize: 16 << 10, writeQuantum: 64, strongest: .relaxed,
      isPersistent: false), tests: "MemoryStoreContractTests"
  ) { _ in MemoryStore() }

  @Test("The kit passes", arguments: StoreCheck.all(for: factory))
  func contract(_ check: StoreCheck) async throws { try await check.run(Self.factory) }
}
