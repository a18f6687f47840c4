import ConiferKeyValue
import ConiferStorage
import Synchronization
import TestSupport
import Testing

@testable import ConiferSQLite

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Where SQLite's own sync is not enough for power loss, the store syncs the files itself; played here
/// with syncs that a test answers.
@Suite struct OwnSyncTests {
  /// The files that were synced, by their inodes, and what the next syncs are answered.
  private final class Syncs: Sendable {
    private let files = Mutex<[UInt64]>([])
    let answer = Mutex<Int32>(0)

    func sync(_ descriptor: Int32) -> Int32 {
      var info = stat()
      guard fstat(descriptor, &info) == 0 else { return errno }
      files.withLock { $0.append(UInt64(info.st_ino)) }
      return answer.withLock { $0 }
    }

    /// How often a file was synced since the last question; others' are forgotten too.
    func count(_ path: String) -> Int {
      var info = stat()
      guard stat(path, &info) == 0 else { return -1 }
      return files.withLock { files in
        defer { files = [] }
        return files.count { $0 == UInt64(info.st_ino) }
      }
    }
  }

  private static let space = Space(id: 7, shape: .rows)

  private static func batch(_ key: UInt8) -> Batch {
    var batch = Batch()
    batch.put(space, [key], [1])
    return batch
  }

  @Test func `A power commit syncs the log itself, a fold the database, others nothing`() throws {
    let scratch = try Scratch()
    let (log, database) = (scratch.path + "/conifer.sqlite-wal", scratch.path + "/conifer.sqlite")
    let syncs = Syncs()
    let store = try SQLiteStore(at: scratch.path, SQLiteOptions()) { syncs.sync($0) }
    _ = syncs.count(log)
    for key in 0..<3 as Range<UInt8> {
      _ = try store.apply(Self.batch(key), .power)
      #expect(syncs.count(log) == 1)
    }
    let soft = try store.apply(Self.batch(9), .process)
    #expect(syncs.count(log) == 0)
    try store.harden(soft)
    #expect(syncs.count(log) == 1)
    try store.harden(soft)
    #expect(syncs.count(log) == 0)
    _ = try store.apply(Self.batch(10), .process)
    _ = try store.tidy(.seconds(1))
    #expect(syncs.count(database) == 1)
    _ = try store.apply(Self.batch(11), .process)
    try store.close()
    #expect(syncs.count(database) == 1)
  }

  @Test(arguments: [EIO, ENOSPC])
  func `A sync of its own that fails poisons the store`(_ number: Int32) throws {
    let scratch = try Scratch()
    let syncs = Syncs()
    let store = try SQLiteStore(at: scratch.path, SQLiteOptions()) { syncs.sync($0) }
    _ = try store.apply(Self.batch(1), .power)
    syncs.answer.withLock { $0 = number }
    var codes: [StoreError.Code] = []
    for key in 2..<4 as Range<UInt8> {
      do throws(StoreError) {
        _ = try store.apply(Self.batch(key), .power)
      } catch { codes.append(error.code) }
      syncs.answer.withLock { $0 = 0 }
    }
    #expect(codes == [.io, .poisoned])
    #expect(throws: StoreError.self) { try store.close() }
  }
}
