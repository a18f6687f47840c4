import ConiferKeyValue
import ConiferStorage
import Testing

@testable import ConiferLMDB

/// What is read while the store lets go of its files.
@Suite("Suspending an LMDB store that is read")
struct SuspendingTests {
  private let directory = TemporaryDirectory()

  private func code(_ body: () throws(StoreError) -> Void) -> StoreError.Code? {
    do throws(StoreError) {
      try body()
      return nil
    } catch { return error.code }
  }

  private func store() throws -> LMDBStore {
    let store = try LMDBStore(at: directory.path, LMDBOptions(patience: .milliseconds(20)))
    var batch = Batch()
    for number in 0..<200 as Range<UInt8> {
      batch.put(FileTests.space, [number], Bytes(repeating: number, count: 1000))
    }
    _ = try store.apply(batch, .process)
    return store
  }

  @Test("A check ends at its next page")
  func check() throws {
    let store = try store()
    let name = directory.path + "/data.mdb"
    let file = try #require(System.open(name))
    defer { Platform.close(file) }
    let length = try #require(System.length(file))
    let meta = try LMDBMeta.read(file, length: length, directory.path)
    var pages = 0
    var check = LMDBTreeCheck(file: file, meta: meta, length: length, name: name) {
      pages += 1
      return pages == 3
    }
    let found = code { () throws(StoreError) in _ = try check.run { _ in } }
    #expect(found == .closed && pages == 3)
    let reader = try store.environment().read()
    #expect(!reader.isClosing)
    reader.close()
    #expect(reader.isClosing)
    try store.close()
  }

  @Test("A walk ends at its next row")
  func walk() throws {
    let store = try store()
    let view = try store.view()
    var rows = 0
    let end = code { () throws(StoreError) in
      try view.walk(FileTests.space, .atOrAfter([])) { _, _ in
        rows += 1
        view.close()
        return .next
      }
    }
    #expect(rows == 1 && end == .closed)
    try store.close()
  }

  @Test("A read that does not end keeps the store from being suspended, and it is tried again")
  func lasting() throws {
    let store = try store()
    let view = try store.view()
    var codes: [StoreError.Code?] = []
    let end = code { () throws(StoreError) in
      try view.walk(FileTests.space, .atOrAfter([])) { _, _ in
        codes += [code(store.suspend), code(store.suspend), code(store.resume)]
        return .next
      }
    }
    #expect(codes == [.io, .io, .io] && end == .closed)
    try store.suspend()
    let other = try LMDBStore(at: directory.path)
    try other.close()
    try store.resume()
    let again = try store.view()
    #expect(try again.value(FileTests.space, [7])?.count == 1000)
    again.close()
    try store.close()
  }
}
