import ConiferKeyValue
import ConiferStorage
import Testing

@Suite("Memory store")
struct MemoryStoreTests {
  let rows = Space(id: 1, shape: .rows)
  let other = Space(id: 2, shape: .blobs)

  @Test("A batch applies in order across spaces, and an earlier view stays as it was")
  func batches() throws {
    let store = MemoryStore()
    var batch = Batch()
    for n in UInt8(0)..<10 { batch.put(rows, [n], [n, n]) }
    batch.put(other, [], [7])
    let first = try store.apply(batch, .relaxed)
    let view = try store.view()
    batch = Batch()
    batch.put(rows, [3, 1], [1])
    batch.clear(rows, from: [2], to: [5])
    batch.put(rows, [4], [44])
    batch.delete(other, [])
    #expect(try store.apply(batch, .relaxed) > first)
    #expect(try view.value(rows, [3]) == [3, 3])
    #expect(try view.value(other, []) == [7])
    let now = try store.view()
    #expect(try now.value(rows, [3]) == nil)
    #expect(try now.value(rows, [3, 1]) == nil)
    #expect(try now.value(rows, [4]) == [44])
    #expect(try now.value(other, []) == nil)
    #expect(try store.size() == StoreSize(live: 23, free: 0, file: 23))
  }

  @Test("A walk goes both ways, jumps forward only, and stops")
  func walks() throws {
    let store = MemoryStore()
    var batch = Batch()
    for n in UInt8(0)..<100 { batch.put(rows, [n], []) }
    _ = try store.apply(batch, .relaxed)
    let view = try store.view()
    var seen: [UInt8] = []
    try view.walk(rows, .atOrAfter([10, 0])) { key, _ in
      let n = Bytes(key)[0]
      seen.append(n)
      if n == 12 { return .jump([50]) }
      if n == 51 { return .jump([3]) }
      return n == 53 ? .stop : .next
    }
    #expect(seen == [11, 12, 50, 51, 52, 53])
    seen = []
    try view.walk(rows, .atOrBefore([10, 0])) { key, _ in
      let n = Bytes(key)[0]
      seen.append(n)
      if n == 9 { return .jump([2, 2]) }
      return n == 2 ? .jump([9]) : .next
    }
    #expect(seen == [10, 9, 2, 1, 0])
  }

  @Test("It refuses durability, and calls while suspended or closed")
  func lifecycle() throws {
    let store = MemoryStore()
    func code(_ body: () throws(StoreError) -> Void) -> StoreError.Code? {
      do throws(StoreError) {
        try body()
        return nil
      } catch { return error.code }
    }
    #expect(
      code { () throws(StoreError) in _ = try store.apply(Batch(), .process) } == .unsupported)
    var batch = Batch()
    batch.put(rows, [1], [1])
    let id = try store.apply(batch, .relaxed)
    let old = try store.view()
    try store.suspend()
    try store.suspend()
    #expect(code { () throws(StoreError) in try store.harden(id) } == .suspended)
    #expect(code { () throws(StoreError) in _ = try store.view() } == .suspended)
    #expect(code { () throws(StoreError) in _ = try old.value(rows, [1]) } == .closed)
    try store.resume()
    let view = try store.view()
    #expect(try view.value(rows, [1]) == [1])
    try store.close()
    try store.close()
    #expect(code { () throws(StoreError) in _ = try view.value(rows, [1]) } == .closed)
    #expect(code { () throws(StoreError) in _ = try store.apply(batch, .relaxed) } == .closed)
  }
}
