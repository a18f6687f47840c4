import ConiferKeyValue
import ConiferStorage
import Synchronization
import TestSupport
import Testing

@testable import ConiferLog

@Suite("Reading a log store beside its owner")
struct ReaderTests {
  private static let rows = 0..<8

  private static func put(_ round: Int, _ store: LogStore) throws {
    // Each in a commit of its own, so that they are in several segments.
    for n in rows {
      try store.put(blobs, key(n), CompactionTests.value(round * 8 + n, 900), .power)
    }
  }

  private static func round(_ view: any OrderedView) throws -> Int? {
    let values = try rows.map { try view.value(blobs, key($0)) }
    return (0..<32).first { round in
      rows.allSatisfy { values[$0] == CompactionTests.value(round * 8 + $0, 900) }
    }
  }

  private func reader(_ files: any LogFileSystem) throws(StoreError) -> LogReader {
    try LogReader(at: "store", LogOptions(), files: files)
  }

  @Test("Views see their moment while the owner empties and removes segments")
  func views() throws {
    let disk = MemoryDisk()
    let store = try disk.store()
    let opened = Mutex(0)
    let reader = try self.reader(WatchedFiles(disk) { _ in opened.withLock { $0 += 1 } })
    // In a segment that nobody reads before it is removed.
    let old = CompactionTests.value(99, 900)
    try store.put(blobs, key(99), old)
    var held: [(view: any OrderedView, round: Int)] = []
    for round in 0..<28 {
      try Self.put(round, store)
      let view = try reader.view()
      if round % 5 == 0 {
        // Nothing of it is read before the owner removed what it needs.
        held.append((view, round))
      } else {
        #expect(try Self.round(view) == round)
      }
      if round % 4 == 0 { _ = try store.tidy(.milliseconds(5)) }
    }
    while try store.tidy(.milliseconds(50)) {}
    #expect(disk["store/0000000000000001.segment"] == nil)
    let known = opened.withLock { $0 }
    for (view, round) in held {
      #expect(try Self.round(view) == round)
      #expect(try view.value(blobs, key(99)) == old)
    }
    #expect(opened.withLock { $0 } == known, "all files are open once there is a view")
    try store.close()
    #expect(try Self.round(try reader.view()) == 27)
    reader.close()
    #expect(code { () throws(StoreError) in _ = try reader.view() } == .closed)
  }

  @Test("The owner removes files between the manifest and the first of them")
  func removed() throws {
    let disk = MemoryDisk()
    let store = try disk.store()
    for round in 0..<20 { try Self.put(round, store) }
    while try store.tidy(.milliseconds(50)) {}
    let times = Mutex(0)
    let files = WatchedFiles(disk) { path in
      guard !path.hasSuffix("manifest"),
        times.withLock({
          $0 += 1
          return $0
        }) <= 3
      else { return }
      try? Self.put(20 + times.withLock { $0 }, store)
      while (try? store.tidy(.milliseconds(50))) == true {}
    }
    let reader = try self.reader(files)
    #expect(try Self.round(reader.view()) == 23)
    try store.close()
  }

  @Test("A frame that was read before it was written is no damage, and one that is gone is")
  func hole() throws {
    let disk = MemoryDisk()
    let store = try disk.store(LogOptions())
    try Self.put(0, store)
    let segment = try #require(
      disk.state.withLock { $0.names.keys.first { $0.hasSuffix(".segment") } })
    func end() -> Int { (disk[segment]?.lastIndex { $0 != 0 } ?? 0) / 8 * 8 + 8 }
    let first = end()
    try Self.put(1, store)
    let second = end()
    for round in 2..<5 { try Self.put(round, store) }
    let times = Mutex(0)
    let files = WatchedFiles(disk, hole: first..<second) {
      times.withLock {
        $0 += 1
        return $0
      } == 1
    }
    let reader = try self.reader(files)
    #expect(try Self.round(reader.view()) == 4)
    #expect(times.withLock { $0 } > 1)
    let damaged = WatchedFiles(disk, hole: first..<second) { true }
    #expect(code { () throws(StoreError) in _ = try self.reader(damaged) } == .damaged)
    try store.close()
  }

  @Test("What a killed owner had not written whole is left out, and stays")
  func torn() throws {
    let disk = MemoryDisk()
    let store = try disk.store(LogOptions())
    for round in 0..<3 { try Self.put(round, store) }
    let segment = try #require(
      disk.state.withLock { $0.names.keys.first { $0.hasSuffix(".segment") } })
    var bytes = try #require(disk[segment])
    let last = try #require(bytes.lastIndex { $0 != 0 })
    bytes[last] ^= 1
    let torn = bytes
    disk.state.withLock { state in
      if let inode = state.names[segment] { state.inodes[inode]?.bytes = torn }
    }
    let reader = try self.reader(disk)
    let view = try reader.view()
    #expect(try view.value(blobs, key(0)) == CompactionTests.value(16, 900))
    #expect(try view.value(blobs, key(7)) == CompactionTests.value(8 + 7, 900))
    #expect(disk[segment] == torn)
    withExtendedLifetime(store) {}
  }
}

/// Files of which a test sees each opening, or hides a part of.
private final class WatchedFiles: LogFileSystem {
  private let base: MemoryDisk
  private let willOpen: @Sendable (String) -> Void
  private let hole: Range<Int>
  private let isHidden: @Sendable () -> Bool

  init(
    _ base: MemoryDisk, hole: Range<Int> = 0..<0,
    isHidden: @escaping @Sendable () -> Bool = { false }
  ) {
    (self.base, self.hole, self.isHidden, willOpen) = (base, hole, isHidden, { _ in })
  }

  init(_ base: MemoryDisk, willOpen: @escaping @Sendable (String) -> Void) {
    (self.base, self.willOpen, hole, isHidden) = (base, willOpen, 0..<0, { false })
  }

  func makeDirectory(_ path: String) throws(StoreError) {}
  func own(_ path: String) throws(StoreError) -> OwnerLock? { nil }
  func names(in directory: String) throws(FileFailure) -> [String] { try base.names(in: directory) }
  func rename(_ path: String, to new: String) throws(FileFailure) { throw FileFailure(1) }
  func remove(_ path: String) throws(FileFailure) { throw FileFailure(1) }
  func syncDirectory(_ path: String) throws(FileFailure) { throw FileFailure(1) }

  func open(_ path: String, _ access: FileAccess) throws(FileFailure) -> (any LogFile)? {
    guard access == .read else { throw FileFailure(1) }
    willOpen(path)
    guard let file = try base.open(path, access) else { return nil }
    return path.hasSuffix(".segment") ? Holed(file, hole, isHidden) : file
  }

  private final class Holed: LogFile {
    private let base: any LogFile
    private let hole: Range<Int>
    private let isHidden: @Sendable () -> Bool

    init(_ base: any LogFile, _ hole: Range<Int>, _ isHidden: @escaping @Sendable () -> Bool) {
      (self.base, self.hole, self.isHidden) = (base, hole, isHidden)
    }

    func length() throws(FileFailure) -> Int { try base.length() }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(FileFailure) -> Int {
      throw FileFailure(1)
    }
    func sync() throws(FileFailure) { throw FileFailure(1) }
    func allocate(_ length: Int) throws(FileFailure) { throw FileFailure(1) }
    func truncate(_ length: Int) throws(FileFailure) { throw FileFailure(1) }

    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFailure) -> Int {
      let count = try base.read(buffer, at: offset)
      let hidden = hole.clamped(to: offset..<max(offset, offset + count))
      if !hidden.isEmpty, isHidden() {
        for place in hidden { buffer[place - offset] = 0 }
      }
      return count
    }
  }
}
