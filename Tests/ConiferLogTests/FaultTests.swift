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

@Suite("A log store on a failing disk")
struct FaultTests {
  static let faults: [MemoryDisk.Fault] = [
    .fails(EIO), .fails(ENOSPC), .tears(EIO), .tears(ENOSPC), .doesAndFails(ENOSPC), .short,
    .interrupted,
  ]

  /// Runs a history on a disk that fails once; a commit that was refused is known as such, and the
  /// store is opened again where it refuses to go on.
  @Test(
    "The n-th operation fails, for every n: nothing acknowledged is lost, nothing refused is there",
    arguments: faults)
  func everyOperation(fault: MemoryDisk.Fault) throws {
    let history = History(seed: 11, commits: 45)
    let whole = MemoryDisk()
    #expect(CrashTests.run(history, whole).done == 45)
    let operations = whole.state.withLock { $0.count }
    for number in 0..<operations {
      let disk = MemoryDisk()
      disk.state.withLock { $0.faults[number] = fault }
      let place = "\(fault) at operation \(number)"
      var expected: History.Rows = [:]
      /// Commits that failed so that only reopening tells whether they took place.
      var open: [History.Rows] = []
      var store = try? disk.store()
      if store == nil { store = try disk.store() }
      for (index, commit) in history.batches.enumerated() {
        guard let current = store else { break }
        do throws(StoreError) {
          _ = try current.apply(commit.batch, commit.durability)
          expected = History.apply(commit.batch, to: expected)
        } catch {
          if error.code == .full {
            // Nothing has changed, also for whom the process dies now, and the next try succeeds.
            #expect(try History.read(current) == expected, "\(place), commit \(index)")
            let killed = try disk.copied().store()
            #expect(try History.read(killed) == expected, "\(place), commit \(index), killed")
            _ = try current.apply(commit.batch, commit.durability)
            expected = History.apply(commit.batch, to: expected)
            continue
          }
          #expect([.io, .poisoned].contains(error.code), "\(place), commit \(index): \(error)")
          #expect(
            code { () throws(StoreError) in _ = try current.apply(Batch(), .process) } == .poisoned)
          #expect(code { () throws(StoreError) in try current.close() } == .poisoned)
          open = [expected, History.apply(commit.batch, to: expected)]
          let again = try disk.store()
          let found = try History.read(again)
          #expect(open.contains(found), "\(place), commit \(index): neither before nor after")
          expected = found
          store = again
        }
        if index % 9 == 8 { _ = try? store?.tidy(.zero) }
      }
      if let store {
        if (try? store.view()) != nil {
          #expect(try History.read(store) == expected, "\(place): at the end")
        }
        try? store.close()
      }
      let last = try disk.store()
      #expect(try History.read(last) == expected, "\(place): opened again")
      if fault == .short || fault == .interrupted {
        // These are no errors at all.
        #expect(expected == history.states[45], "\(place)")
      }
      try? last.close()
    }
  }

  @Test("A failed sync poisons until the store is opened anew; suspending does not cure it")
  func poison() throws {
    let disk = MemoryDisk()
    let store = try disk.store()
    try store.put(rows, [1], [1], .power)
    disk.state.withLock { $0.always = [(.sync, .fails(EIO))] }
    #expect(code { () throws(StoreError) in try store.put(rows, [2], [2], .power) } == .io)
    disk.state.withLock { $0.always = [] }
    #expect(code { () throws(StoreError) in try store.put(rows, [3], [3]) } == .poisoned)
    #expect(code { () throws(StoreError) in try store.harden(CommitID(rawValue: 1)) } == .poisoned)
    #expect(code { () throws(StoreError) in _ = try store.tidy(.zero) } == .poisoned)
    #expect(try store.view().value(rows, [1]) == [1])
    #expect(code { () throws(StoreError) in try store.suspend() } == .poisoned)
    try store.resume()
    #expect(code { () throws(StoreError) in try store.put(rows, [3], [3]) } == .poisoned)
    #expect(code { () throws(StoreError) in try store.close() } == .poisoned)
    let again = try disk.store()
    #expect(try again.view().value(rows, [1]) == [1])
    try again.put(rows, [3], [3], .power)
    try again.close()
  }

  @Test("On a full disk reading and deleting go on, and all goes on when there is room again")
  func full() throws {
    let disk = MemoryDisk()
    var options = LogOptions()
    options.segment = 256 << 10
    options.tail = 16 << 10
    options.reserve = 256 << 10
    let store = try disk.store(options)
    for n in 0..<100 { try store.put(blobs, key(n), Bytes(repeating: UInt8(n), count: 4000)) }
    disk.state.withLock { $0.room = MemoryDisk.used($0) }
    var stored = 100
    var refused = 0
    while refused < 3, stored < 1000 {
      let failed = code { () throws(StoreError) in
        try store.put(blobs, key(stored), Bytes(repeating: UInt8(stored & 0xFF), count: 100_000))
      }
      #expect(failed == nil || failed == .full)
      if failed == nil { stored += 1 } else { refused += 1 }
    }
    #expect(refused == 3)
    // Draining: each delete is a commit of its own, with a small record beside it.
    for n in 0..<stored {
      var batch = Batch()
      batch.delete(blobs, key(n))
      batch.put(rows, [1], key(n))
      _ = try store.apply(batch, .power)
    }
    #expect(try contents(store.view(), blobs).isEmpty)
    while try store.tidy(.milliseconds(50)) {}
    // The space of what was deleted is there again.
    for n in 0..<20 { try store.put(blobs, key(n), Bytes(repeating: 1, count: 4000), .power) }
    try store.close()
    let again = try disk.copied().store(options)
    #expect(try contents(again.view(), blobs).count == 20)
  }

  /// A small disk, filled up by commits that only add.
  private static func filled(_ disk: MemoryDisk, _ options: LogOptions) throws -> LogStore {
    let store = try disk.store(options)
    for n in 0..<40 { try store.put(blobs, key(n), Bytes(repeating: UInt8(n), count: 4000)) }
    disk.state.withLock { $0.room = MemoryDisk.used($0) }
    var (stored, refused) = (40, 0)
    while refused < 3, stored < 2000 {
      let failed = code { () throws(StoreError) in
        try store.put(blobs, key(stored), Bytes(repeating: 1, count: 1500))
      }
      #expect(failed == nil || failed == .full)
      if failed == nil { stored += 1 } else { refused += 1 }
    }
    #expect(refused == 3)
    return store
  }

  private static var small: LogOptions {
    var options = LogOptions()
    options.segment = 256 << 10
    options.tail = 16 << 10
    options.reserve = 256 << 10
    return options
  }

  @Test(
    "Small commits that only add leave the reserve to those that make room",
    arguments: [false, true])
  func reserve(isReopened: Bool) throws {
    let disk = MemoryDisk()
    var store = try Self.filled(disk, Self.small)
    if isReopened {
      try store.close()
      // Another app takes what was given back.
      disk.state.withLock { $0.room = MemoryDisk.used($0) }
      store = try disk.store(Self.small)
      while code({ () throws(StoreError) in
        try store.put(rows, [7], Bytes(repeating: 1, count: 900))
      })
        == nil
      {}
    }
    let keys = try contents(store.view(), blobs).map { $0[0] }
    for key in keys {
      var batch = Batch()
      batch.delete(blobs, key)
      batch.put(rows, [1], key)
      batch.frees = true
      _ = try store.apply(batch, .power)
    }
    #expect(try contents(store.view(), blobs).isEmpty)
    disk.state.withLock { $0.room = Int.max }
    while try store.tidy(.milliseconds(50)) {}
    try store.put(blobs, key(1), Bytes(repeating: 1, count: 4000), .power)
    try store.close()
  }

  @Test("A reserve that a power cut left without its bytes is made anew")
  func emptyReserve() throws {
    let disk = MemoryDisk()
    let store = try disk.store(Self.small)
    try store.put(rows, [1], [1], .power)
    try store.close()
    #expect(disk["store/reserve"]?.count == 256 << 10)
    disk["store/reserve"] = []
    let again = try disk.store(Self.small)
    #expect(try again.size().file < 100 << 10)
    try again.put(rows, [2], [2], .power)
    try again.close()
    #expect(disk["store/reserve"]?.count == 256 << 10)
  }
}
