import StorageConformance
import Testing

/// Whether the kit would notice a journal that breaks a promise.
@Suite("The kit sees each broken promise of the journal")
struct MutationTests {
  @Test("Over a journal", arguments: StoreMutation.all(for: ContractTests.stores))
  func journal(_ mutation: StoreMutation) async throws {
    try await mutation.run(ContractTests.stores)
  }
}
