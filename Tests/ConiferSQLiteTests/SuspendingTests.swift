import ConiferKeyValue
import Dispatch
import TestSupport
import Testing

@testable import ConiferSQLite

/// What is read while the store lets go of its files.
@Suite("Suspending a SQLite store that is read")
struct SuspendingTests {
  private let scratch: Scratch
  init() throws { scratch = try Scratch() }

  /// Such as a check of the whole store, which is one statement.
  @Test("A statement that goes on for long is interrupted")
  func interruption() throws {
    let store = try SQLiteStore(at: scratch.store)
    let pool = ReaderPool(DatabaseFile(directory: scratch.store, options: SQLiteOptions()))
    let lease = try pool.lease(atMost: 1)
    let (began, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let codes = Gathered<StoreError.Code?>()
    DispatchQueue.global().async {
      let end = code { () throws(StoreError) in
        let reader = try lease.enter()
        defer { lease.leave() }
        began.signal()
        // So many that it is never done in time, and ends nevertheless.
        _ = try reader.connection.integer(
          """
          WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 100000000)
          SELECT count(*) FROM numbers
          """)
      }
      codes.add(end)
      ended.signal()
    }
    began.wait()
    #expect(pool.shut(.suspended))
    ended.wait()
    #expect(codes.all == [.closed])
    try store.close()
  }

  @Test("A read that does not end keeps the store from being suspended, and it is tried again")
  func lasting() throws {
    let store = try SQLiteStore(at: scratch.store)
    var batch = Batch()
    batch.put(rows, [1], [2])
    _ = try store.apply(batch, .process)
    let view = try store.view()
    var codes: [StoreError.Code?] = []
    let end = code { () throws(StoreError) in
      try view.walk(rows, .atOrAfter([])) { _, _ in
        for _ in 0..<2 { codes.append(code(store.suspend)) }
        return .next
      }
    }
    #expect(codes == [.io, .io] && end == .closed)
    try store.suspend()
    let other = try SQLiteStore(at: scratch.store)
    try other.close()
    try store.resume()
    let again = try store.view()
    #expect(try again.value(rows, [1]) == [2])
    again.close()
    try store.close()
  }
}

private func code(_ body: () throws(StoreError) -> Void) -> StoreError.Code? {
  do throws(StoreError) {
    try body()
    return nil
  } catch { return error.code }
}
