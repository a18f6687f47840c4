import ConiferKeyValue
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

@Suite struct FormatTests {
  private func refusal(_ store: MemoryStore) -> StoreError? {
    do throws(StoreError) {
      _ = try MemoryBackend(store, name: "memory", options: StorageOptions())
      return nil
    } catch {
      return error
    }
  }

  @Test func `Records of a newer format are refused and left as they are`() async throws {
    let store = try await DamageTests.filled()
    #expect(refusal(store) == nil)
    let key = StoreKey.prefix(TreeID(rawValue: 0)) + [UInt8(ascii: "f")]
    var writer = ByteWriter()
    writer.varint(Trees.format + 1)
    var batch = Batch()
    batch.put(Spaces.system, key, Record.seal(Spaces.system, key, writer.bytes))
    _ = try store.apply(batch, .relaxed)
    let before = try DamageTests.records(store).map(\.value)
    let error = try #require(refusal(store))
    #expect(error.code == .newerFormat)
    #expect(error.message.contains("format \(Trees.format + 1)"))
    #expect(try DamageTests.records(store).map(\.value) == before)
  }

  @Test func `Records without a format are foreign and left as they are`() throws {
    let store = MemoryStore()
    var batch = Batch()
    batch.put(Spaces.metadata, [1, 2, 3], [4])
    _ = try store.apply(batch, .relaxed)
    #expect(refusal(store)?.code == .foreign)
    #expect(try DamageTests.records(store).map(\.value) == [[4]])
  }
}
