import ConiferKeyValue
import ConiferStorage
import Synchronization
import TestSupport
import Testing

@testable import ConiferLog

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite("Opening a log store, and what a commit costs")
struct OpeningTests {
  @Test("Opening reads as often with ten times the records", arguments: [true, false])
  func reads(isKilled: Bool) throws {
    var options = LogOptions()
    options.segment = 64 << 10
    options.tail = 16 << 10
    options.journal = 32 << 10
    func reads(_ count: Int) throws -> (opening: Int, first: Int) {
      var disk = MemoryDisk()
      let store = try disk.store(options)
      for start in stride(from: 0, to: count, by: 50) {
        var batch = Batch()
        for n in start..<(start + 50) {
          batch.put(rows, key(n), key(n))
          if n % 10 == 0 { batch.put(blobs, key(n), Bytes(repeating: 1, count: 1000)) }
        }
        _ = try store.apply(batch, .process)
      }
      let left = disk.copied()
      try store.close()
      disk = isKilled ? left : disk.copied()
      let again = try disk.store(options)
      let opening = disk.state.withLock { $0.reads }
      #expect(try again.view().value(rows, key(count - 1)) == key(count - 1))
      #expect(try again.view().value(rows, key(count)) == nil)
      let first = disk.state.withLock { $0.reads } - opening
      try again.close()
      return (opening, first)
    }
    let (small, large) = (try reads(1000), try reads(10_000))
    // A few tables more, each with its header.
    #expect(large.opening <= small.opening + 4, "\(small) and \(large)")
    #expect(large.first <= small.first + 4, "\(small) and \(large)")
  }

  @Test("A durable commit of one row is one write and one sync of few bytes")
  func cost() throws {
    let disk = MemoryDisk()
    let store = try disk.store(LogOptions())
    try store.put(rows, key(0), [1], .power)
    let before = disk.state.withLock { $0.counted.count }
    let start = try #require(disk["store/0000000000000001.segment"])
    for n in 1...100 { try store.put(rows, key(n), key(n), .power) }
    let counted = disk.state.withLock { $0.counted }[before...]
    #expect(counted.count == 200)
    #expect(counted.count { $0 == .write } == 100 && counted.count { $0 == .sync } == 100)
    let end = try #require(disk["store/0000000000000001.segment"])
    let used = { (bytes: Bytes) in (bytes.lastIndex { $0 != 0 } ?? 0) + 1 }
    #expect((used(end) - used(start)) / 100 <= 4 + 4 + 64)
    // Nothing to sync, nothing written.
    try store.harden(CommitID(rawValue: 101))
    _ = try store.apply(Batch(), .power)
    #expect(disk.state.withLock { $0.counted.count } == before + 200)
    try store.close()
  }

  @Test("A second opener is told who owns the store")
  func second() throws {
    let scratch = try Scratch()
    let store = try LogStore(at: scratch.store)
    do throws(StoreError) {
      _ = try LogStore(at: scratch.store)
      Issue.record("opened twice")
    } catch {
      #expect(error.code == .busy)
      #expect(error.message.contains("\(getpid())"))
    }
    try store.put(rows, [1], [1])
    try store.close()
    // What was allocated ahead is given back.
    #expect(Scratch.length(scratch.store + "/0000000000000001.segment") < 200)
    let again = try LogStore(at: scratch.store)
    #expect(try again.view().value(rows, [1]) == [1])
    try again.close()
  }

  @Test("Frames and headers have the documented bytes")
  func format() throws {
    let store = Bytes(0..<16)
    let header = FileHeader(kind: .segment, detail: 1, store: store, number: 0x0203).bytes
    #expect(header.count == 64)
    #expect(Bytes(header[..<16]) == Bytes("CNFRLOG\n".utf8) + [1, 0, 2, 1, 0, 0, 0, 0])
    #expect(Bytes(header[16..<32]) == store)
    #expect(Bytes(header[32..<56]) == [3, 2] + Bytes(repeating: 0, count: 22))
    var frame = FrameWriter()
    _ = try frame.put(rows, [7], [8, 9])
    let pointer = try frame.put(queue, [], Bytes(repeating: 5, count: 70))
    try frame.delete(blobs, [1, 2])
    try frame.clear(rows, from: [], to: [0xFF])
    var head = FrameHeader(
      editsLength: 0, valuesLength: 0, syncedEnd: 64, sequence: 3, previous: 4, salt: 6, editsSum: 0
    )
    let bytes = frame.bytes(&head, FrameHeader.seed(store, 1, 64))
    let edits =
      [1, 1, 1, 7, 2, 8, 9] + [0x22, 2, 0, 70] + Bytes(bytes[59..<63]) + [0x13, 3, 2, 1, 2]
      + [4, 1, 0, 1, 0xFF]
    #expect(Bytes(bytes[48..<(48 + edits.count)]) == edits)
    #expect(
      Bytes(bytes[..<36])
        == [0x43, 0x46, 0x72, 0x6D, UInt8(edits.count), 0, 0, 0, 70, 0, 0, 0, 64, 0, 0, 0, 3]
        + [0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0])
    #expect(bytes.count == (48 + edits.count + 70 + 7) / 8 * 8)
    #expect(
      pointer
        == .value(
          Pointer(
            segment: 0, offset: 0, length: 70,
            checksum: Bytes(repeating: 5, count: 70).withUnsafeBytes { XXHash64.short($0) },
            isQueue: true)))
    #expect(FrameEdit.all(edits, valuesLength: 70)?.count == 4)
    // A frame counts at its own place alone.
    for (segment, offset) in [(UInt64(1), 64), (2, 64), (1, 72)] {
      let found = bytes.withUnsafeBytes {
        FrameHeader($0, at: 0, seed: FrameHeader.seed(store, segment, offset))
      }
      #expect((found != nil) == (segment == 1 && offset == 64))
    }
  }
}
