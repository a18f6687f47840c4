import ConiferKeyValue
import ConiferStorage
import JournalStore
import StorageConformance
import Testing

@Suite("The journal keeps both contracts")
struct ContractTests {
  static let declared = StoreTraits(
    longestKey: 4096, bestValueSize: 16 << 10, writeQuantum: 64, strongest: .power,
    isPersistent: true)

  static let stores = StoreFactory(
    name: "Journal", declared: declared, ownerFile: "owner"
  ) { (path) throws(StoreError) in try JournalStore(at: path) }

  @Test("As an ordered store", arguments: StoreCheck.all(for: stores))
  func store(_ check: StoreCheck) async throws { try await check.run(Self.stores) }

  static let backends = BackendFactory(
    name: "journal", declared: declared, options: StorageOptions(durability: .process),
    evicts: true, keepsDocuments: true, verifies: true
  ) { (path, options) throws(StoreError) in
    try StorageConfiguration.journal(at: path, options: options).open()
  }

  @Test("As a backend", arguments: BackendCheck.all(for: backends))
  func backend(_ check: BackendCheck) async throws { try await check.run(Self.backends) }

  static let memory = BackendFactory(
    name: "memory",
    declared: StoreTraits(
      longestKey: .max, bestValueSize: 16 << 10, writeQuantum: 64, strongest: .relaxed,
      isPersistent: false),
    options: StorageOptions(durability: .relaxed), evicts: true, keepsDocuments: true,
    verifies: true
  ) { (_, options) throws(StoreError) in try StorageConfiguration.memory(options).open() }

  @Test("It holds the same as memory after the same program")
  func agreement() async throws {
    try await BackendCheck.agreement(of: [Self.memory, Self.backends])
  }
}
