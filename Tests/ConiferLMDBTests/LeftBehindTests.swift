import ConiferKeyValue
import Testing

@testable import ConiferLMDB
@testable import ConiferStorage

/// Who died with a store open may have died of a page of it: its files are looked at further than others'.
@Suite struct LeftBehindTests {
  @Test func `Who refuses such a store leaves the sign of it to the next`() throws {
    let directory = TemporaryDirectory()
    let store = try LMDBStore(at: directory.path)
    for round in 0..<60 {
      var batch = Batch()
      for i in 0..<100 {
        batch.put(
          FileTests.space, [UInt8(round), UInt8(i)], Bytes(repeating: UInt8(i), count: 900))
      }
      _ = try store.apply(batch, .process)
    }
    try store.close()
    let name = directory.path + "/data.mdb"
    var bytes = Files.read(name)
    let pages = bytes.count / 4096
    #expect(pages > 1 << 10)
    // A leaf in the middle says that it is another page, which LMDB itself does not look at.
    let leaf = try #require(
      (pages / 2..<pages).first { bytes.number(at: $0 * 4096 + 10, bytes: 2) == 2 })
    bytes[leaf * 4096] ^= 1
    Files.write(name, bytes)
    #expect(FileTests.open(directory.path) == nil)
    try OwnerLock(path: directory.path + "/owner", for: LMDBStore.files).leave()
    for _ in 0..<3 { #expect(FileTests.open(directory.path) == .damaged) }
    bytes[leaf * 4096] ^= 1
    Files.write(name, bytes)
    #expect(FileTests.open(directory.path) == nil)
    // That one was closed.
    #expect(try !OwnerLock(path: directory.path + "/owner", for: LMDBStore.files).wasLeftBehind)
  }
}
