import ConiferKeyValue
import ConiferLMDB
import ConiferLeafStore
import Testing

@testable import ConiferStorage
@testable import StorageConformance

/// A full disk whose reserve is used up, while a view keeps pages from being used again, refuses commits
/// and harms nothing.
@Suite(.enabled(if: IOSession.isAvailable)) struct DrainedReserveTests {
  private static func key(_ number: Int) -> Bytes { [UInt8(number >> 8), UInt8(number & 0xFF)] }

  @Test(arguments: [0, 64 << 10, 512 << 10], [1, 20])
  func `Deleting goes on until nothing is left, and again when there is room`(
    reserve: Int, each: Int
  ) throws {
    let directory = TemporaryDirectory()
    let session = try IOSession.fail(directory.path, at: nil, with: .shortWrite)
    defer { session.end() }
    let store = try LMDBStore(at: directory.path, LMDBOptions(reserve: reserve))
    var batch = Batch()
    for number in 0..<4000 {
      batch.put(FileTests.space, Self.key(number), Bytes(repeating: 7, count: 1000))
    }
    _ = try store.apply(batch, .relaxed)
    let view = try store.view()
    session.setFull(true)
    var (gone, code) = (0, nil as StoreError.Code?)
    while code == nil, gone + each <= 4000 {
      var batch = Batch()
      // Far from each other, so that each touches a page of its own.
      for number in gone..<(gone + each) {
        batch.delete(FileTests.space, Self.key(number * 1009 % 4000))
      }
      do throws(StoreError) {
        _ = try store.apply(batch, .relaxed)
        gone += each
      } catch { code = error.code }
    }
    #expect(code == .full || gone == 4000)
    // One is left to be deleted below.
    let isLeft = gone < 4000
    #expect(try view.value(FileTests.space, Self.key(1009))?.count == 1000)
    view.close()
    // What was deleted gives its pages back.
    var more = Batch()
    more.delete(FileTests.space, Self.key(gone * 1009 % 4000))
    _ = try store.apply(more, .relaxed)
    if isLeft { gone += 1 }
    session.setFull(false)
    var last = Batch()
    last.put(FileTests.space, [0xFF], [1])
    _ = try store.apply(last, .power)
    let after = try store.view()
    #expect(try after.keys(FileTests.space, prefix: []).count == 4001 - gone)
    after.close()
    try store.close()
  }
}
