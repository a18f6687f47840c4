import ConiferKeyValue
import ConiferStorage
import Synchronization
import TestSupport
import Testing

@testable import ConiferLog

@Suite("Checking a log store")
struct VerifyTests {
  /// What a check and a read of all rows find.
  private func problems(_ store: LogStore) throws -> Int {
    var found = try findings(store).count
    let view = try store.view()
    for space in spaces {
      do throws(StoreError) {
        _ = try contents(view, space)
      } catch { found += 1 }
    }
    return found
  }

  @Test("Every changed byte that the store depends on is found while it is open")
  func bytes() throws {
    let disk = MemoryDisk()
    let store = try disk.store()
    let history = History(seed: 5, commits: 30, values: [0, 3, 40, 66, 90, 130])
    for (number, commit) in history.batches.enumerated() {
      _ = try store.apply(commit.batch, .power)
      if number == 14 { _ = try store.tidy(.seconds(1)) }
    }
    #expect(try problems(store) == 0)
    var tried = 0
    var found = 0
    for (name, number) in disk.state.withLock({ $0.names }) {
      let original = disk.state.withLock { $0.inodes[number]?.bytes ?? [] }
      // Values that were replaced may change without harm; zeros behind the frames are left out.
      for at in stride(from: 0, to: original.count, by: 7) where original[at] != 0 {
        disk.state.withLock { $0.inodes[number]?.bytes[at] ^= 0x08 }
        tried += 1
        let isFound = try problems(store) > 0
        if isFound { found += 1 }
        #expect(
          isFound || name.hasSuffix(".segment") || name.hasSuffix("reserve"), "\(name) at \(at)")
        disk.state.withLock { $0.inodes[number]?.bytes[at] = original[at] }
      }
    }
    #expect(try problems(store) == 0)
    #expect(tried > 300 && found > tried / 2, "\(found) of \(tried)")
    try store.close()
  }
}
