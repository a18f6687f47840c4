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

@Suite("Compaction of a log store")
struct CompactionTests {
  static func value(_ seed: Int, _ count: Int) -> Bytes {
    // A loop: tests are not optimized, and there are many of these.
    var bytes = Bytes(repeating: UInt8(truncatingIfNeeded: seed), count: count)
    for index in 1..<max(1, count) { bytes[index] = bytes[index - 1] &+ 31 }
    return bytes
  }

  @Test("Views see their moment while segments are emptied and removed under them")
  func views() throws {
    let disk = MemoryDisk()
    let store = try disk.store()
    var held: [(view: any OrderedView, round: Int)] = []
    for round in 0..<60 {
      var batch = Batch()
      for n in 0..<8 { batch.put(blobs, key(n), Self.value(round * 8 + n, 900)) }
      _ = try store.apply(batch, .process)
      if round % 7 == 0 { held.append((try store.view(), round)) }
      if round % 5 == 0 { _ = try store.tidy(.milliseconds(5)) }
    }
    while try store.tidy(.milliseconds(50)) {}
    #expect(disk["store/0000000000000001.segment"] == nil)
    for (view, round) in held {
      for n in 0..<8 {
        #expect(
          try view.value(blobs, key(n)) == Self.value(round * 8 + n, 900),
          "round \(round), row \(n)")
      }
      view.close()
    }
    try store.close()
  }

  @Test("Views read segments that were not open when they were dropped")
  func unopened() throws {
    let disk = MemoryDisk()
    let store = try disk.store()
    for n in 0..<60 { try store.put(blobs, key(n), Self.value(n, 3000)) }
    let view = try store.view()
    var batch = Batch()
    batch.clear(blobs, from: [], to: [0xFF])
    _ = try store.apply(batch, .process)
    while try store.tidy(.milliseconds(50)) {}
    let left = disk.paths.filter { $0.hasSuffix(".segment") }
    #expect(left.count <= 2)
    for n in 0..<60 { #expect(try view.value(blobs, key(n)) == Self.value(n, 3000), "row \(n)") }
    try store.close()
  }

  @Test(
    "A fold amid a pass drops no segment that the pass has not emptied yet",
    arguments: [false, true])
  func amidPass(overwrites: Bool) throws {
    let disk = MemoryDisk()
    var options = LogOptions()
    options.segment = 16 << 20
    let store = try disk.store(options)
    var rows: [Int: Bytes] = [:]
    for n in 0..<4000 {
      rows[n] = Self.value(n, 3000)
      try store.put(blobs, key(n), Self.value(n, 3000))
    }
    // All that is left in the first segment is copied in six steps.
    try store.put(blobs, key(9999), Bytes(repeating: 1, count: 5 << 20))
    var batch = Batch()
    for n in 0..<4000 where n % 2 == 0 {
      batch.delete(blobs, key(n))
      rows[n] = nil
    }
    _ = try store.apply(batch, .process)
    #expect(try store.tidy(.zero))
    // Each commit adds a step, without a fold.
    for _ in 0..<2 { try store.put(queue, [1], [1]) }
    if overwrites {
      batch = Batch()
      for n in 0..<2000 where n % 2 == 1 {
        rows[n] = Self.value(n, 100)
        batch.put(blobs, key(n), Self.value(n, 100))
      }
      _ = try store.apply(batch, .process)
    }
    // A fold first, then a step.
    _ = try store.tidy(.zero)
    func check(_ store: LogStore) throws {
      let view = try store.view()
      for (n, row) in rows { #expect(try view.value(blobs, key(n)) == row, "row \(n)") }
    }
    try check(store)
    try check(try disk.copied().store(LogOptions()))
    while try store.tidy(.milliseconds(50)) {}
    try check(store)
    try store.close()
  }

  @Test("Nobody has to tidy: overwriting keeps the files bounded")
  func bounded() throws {
    let disk = MemoryDisk()
    var options = LogOptions.tiny
    options.slack = 64 << 10
    let store = try disk.store(options)
    var largest = 0
    for round in 0..<600 {
      var batch = Batch()
      // One of each eight rows stays, so that no segment empties itself.
      let stays = round % 8 == 0
      batch.put(blobs, key(stays ? 1000 + round % 64 : round % 16), Self.value(round, 1500))
      _ = try store.apply(batch, .process)
      largest = max(largest, try store.size().file)
    }
    let live = 24 * 1600
    #expect(largest < live * 2 + (64 << 10) + 4 * (16 << 10) + (16 << 10), "\(largest) bytes")
    while try store.tidy(.milliseconds(50)) {}
    let size = try store.size()
    // Beside the active segment and the reserve.
    #expect(size.file - (16 << 10) - (4 << 10) < size.live * 3 / 2 + 8192, "\(size)")
    try store.close()
  }

  @Test("The queue's values are copied into segments of their own, which churn does not copy again")
  func queueApart() throws {
    let disk = MemoryDisk()
    let store = try disk.store()
    for round in 0..<40 {
      var batch = Batch()
      batch.put(queue, key(round), Self.value(round, 300))
      for n in 0..<4 { batch.put(blobs, key(n), Self.value(round, 700)) }
      _ = try store.apply(batch, .process)
    }
    while try store.tidy(.milliseconds(50)) {}
    func queueSegments() throws -> [UInt64] {
      let bytes = try #require(disk["store/manifest"])
      return try Manifest(bytes, "manifest").segments.filter { $0.kind == .queue }.map(\.number)
    }
    let before = try queueSegments()
    #expect(!before.isEmpty)
    for round in 0..<200 {
      var batch = Batch()
      for n in 0..<4 { batch.put(blobs, key(n), Self.value(round, 700)) }
      _ = try store.apply(batch, .process)
    }
    while try store.tidy(.milliseconds(50)) {}
    #expect(try queueSegments() == before)
    for round in 0..<40 {
      #expect(try store.view().value(queue, key(round)) == Self.value(round, 300))
    }
    // A segment of the queue goes as soon as nothing in it is wanted.
    var drain = Batch()
    drain.clear(queue, from: [], to: [0xFF])
    _ = try store.apply(drain, .power)
    while try store.tidy(.milliseconds(50)) {}
    #expect(try queueSegments().isEmpty)
    try store.close()
  }

  @Test("Live bytes are counted exactly, also after a kill", arguments: [31, 32, 33])
  func accounting(seed: UInt64) throws {
    let history = History(seed: seed, commits: 80)
    var disk = MemoryDisk()
    var store = try disk.store()
    for (number, commit) in history.batches.enumerated() {
      _ = try store.apply(commit.batch, commit.durability)
      if number % 20 == 13 {
        let left = disk.copied()
        try store.close()
        disk = left
        store = try disk.store()
        #expect(try History.read(store) == history.states[number + 1])
      }
    }
    _ = try store.tidy(.seconds(1))
    let manifest = try Manifest(try #require(disk["store/manifest"]), "manifest")
    var expected = 0
    for found in history.states[80].values {
      for (key, value) in found where value.count > Slot.smallLimit {
        expected += value.count + key.count + 1 + 8
      }
    }
    #expect(manifest.segments.reduce(0) { $0 + $1.live } == expected)
    try store.close()
  }
}

@Suite("What a log store takes")
struct SizeTests {
  @Test("Values that commits remove are dead at once, before the index is folded")
  func dead() throws {
    let scratch = try Scratch()
    let store = try LogStore(at: scratch.store, LogOptions())
    var batch = Batch()
    for number in 0..<100 as Range<UInt8> {
      batch.put(blobs, [number], Bytes(repeating: number, count: 5000))
    }
    _ = try store.apply(batch, .relaxed)
    while try store.tidy(.seconds(1)) {}
    let full = try store.size().live
    #expect(full > 500_000)
    batch = Batch()
    for number in 0..<50 as Range<UInt8> { batch.delete(blobs, [number]) }
    _ = try store.apply(batch, .relaxed)
    let half = try store.size().live
    #expect(half < full * 11 / 20, "\(half) of \(full) bytes are live")
    // Again, and with one that comes back: nothing counts twice.
    batch = Batch()
    for number in 0..<60 as Range<UInt8> { batch.delete(blobs, [number]) }
    batch.put(blobs, [3], Bytes(repeating: 1, count: 5000))
    _ = try store.apply(batch, .relaxed)
    let before = try store.size().live
    #expect(before > 205_000 && before < full * 9 / 20)
    while try store.tidy(.seconds(1)) {}
    #expect(try abs(store.size().live - before) < 8000)
    try store.close()
  }

  @Test("A fold that is under way makes nothing live or dead", arguments: [false, true])
  func folding(fails: Bool) throws {
    let disk = MemoryDisk()
    let store = try disk.store(LogOptions())
    var batch = Batch()
    for number in 0..<100 as Range<UInt8> {
      batch.put(blobs, [number], Bytes(repeating: number, count: 5000))
    }
    _ = try store.apply(batch, .relaxed)
    while try store.tidy(.seconds(1)) {}
    batch = Batch()
    for number in 0..<50 as Range<UInt8> { batch.delete(blobs, [number]) }
    _ = try store.apply(batch, .relaxed)
    let before = try store.size().live
    let during = Mutex<[Int]>([])
    disk.state.withLock { state in
      // As another thread would look while the manifest is being written.
      state.beforeRename = {
        if let live = try? store.size().live { during.withLock { $0.append(live) } }
      }
      if fails { state.always = [(.rename, .fails(ENOSPC))] }
    }
    _ = try? store.tidy(.zero)
    disk.state.withLock { state in
      state.beforeRename = nil
      state.always = []
    }
    let seen = during.withLock { $0 }
    #expect(!seen.isEmpty)
    for live in seen { #expect(abs(live - before) < 8000, "\(live), and \(before) before") }
    #expect(try abs(store.size().live - before) < 8000)
    try store.close()
  }
}
