import ConiferKeyValue
import ConiferStorage
import Synchronization
import TestSupport
import Testing

@testable import ConiferLog

@Suite("A walk over keys asks the index alone")
struct KeyWalkTests {
  private static let space = Space(id: 5, shape: .blobs)
  private static let filler: UInt8 = 0xA5

  /// A store with values that are too long to be kept in the index.
  private static func store(_ disk: MemoryDisk) throws -> LogStore {
    let store = try disk.store(LogOptions())
    var batch = Batch()
    for number in 0..<20 {
      batch.put(space, [UInt8(number)], Bytes(repeating: filler, count: 200 + number))
    }
    _ = try store.apply(batch, .process)
    return store
  }

  private static func sizes(_ view: any OrderedView) throws -> [Int] {
    var sizes: [Int] = []
    try view.walkKeys(space, .atOrAfter([])) { key, size in
      sizes.append(size)
      return .next
    }
    return sizes
  }

  @Test("No value is read")
  func reads() throws {
    let disk = MemoryDisk()
    let store = try Self.store(disk)
    let view = try store.view()
    defer { view.close() }
    let before = disk.state.withLock { $0.reads }
    #expect(try Self.sizes(view) == Array(200..<220))
    #expect(disk.state.withLock { $0.reads } == before)
    // Values are counted as reads when they are read.
    try view.walk(Self.space, .atOrAfter([])) { _, _ in .next }
    #expect(disk.state.withLock { $0.reads } == before + 20)
  }

  @Test("Values that cannot be read have their keys and sizes")
  func damage() throws {
    let disk = MemoryDisk()
    let store = try Self.store(disk)
    let changed = disk.state.withLock { state in
      var changed = 0
      for (number, inode) in state.inodes {
        for place in inode.bytes.indices where inode.bytes[place] == Self.filler {
          state.inodes[number]?.bytes[place] = 0
          changed += 1
        }
      }
      return changed
    }
    #expect(changed >= 20 * 200)
    let view = try store.view()
    defer { view.close() }
    #expect(throws: StoreError.self) {
      try view.walk(Self.space, .atOrAfter([])) { _, _ in .next }
    }
    #expect(try Self.sizes(view) == Array(200..<220))
  }

  @Test("Keys come in either direction, and a jump is followed")
  func directions() throws {
    let store = try Self.store(MemoryDisk())
    let view = try store.view()
    defer { view.close() }
    var keys: [Bytes] = []
    try view.walkKeys(Self.space, .atOrBefore([9])) { key, _ in
      keys.append(Bytes(key))
      return keys.count == 1 ? .jump([2]) : .next
    }
    #expect(keys == [[9], [2], [1], [0]])
  }
}
