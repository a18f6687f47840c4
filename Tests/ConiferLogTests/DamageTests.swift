import ConiferKeyValue
import ConiferStorage
import TestSupport
import Testing

@testable import ConiferLog

@Suite("Damaged files of a log store")
struct DamageTests {
  /// A small store: as it was closed, and as a killed process left it.
  struct Sample {
    let history = History(seed: 21, commits: 14, values: [0, 3, 40, 66, 90, 130])
    let closed: MemoryDisk
    let killed: MemoryDisk

    init() throws {
      let disk = MemoryDisk()
      let store = try disk.store()
      for (number, commit) in history.batches.enumerated() {
        _ = try store.apply(commit.batch, .power)
        if number == 6 { _ = try store.tidy(.zero) }
      }
      killed = disk.copied()
      try store.close()
      closed = disk.copied()
    }

    /// Opens and reads a damaged store: what is there is a state that was, or an error or a finding
    /// says why not. Returns whether its rows could be read one by one.
    func check(_ disk: MemoryDisk, isKilled: Bool, _ place: String) -> Bool {
      do throws(StoreError) {
        let store = try disk.store()
        if store.findings.isEmpty {
          let found = try History.read(store)
          let isRight =
            isKilled ? history.prefix(found) != nil : found == history.states[14]
          #expect(isRight, "\(place): wrong data")
        } else {
          #expect(isKilled, "\(place): findings in a store that was closed")
          try wasWritten(try History.read(store), place)
        }
        try store.close()
      } catch {
        #expect(
          [.damaged, .foreign, .newerFormat].contains(error.code), "\(place): \(error)")
        #expect(error.message.contains("store/"), "\(place): \(error) names no file")
      }
      return readSingly(disk, place)
    }

    /// Each row by itself is one that was written, absent, or damaged. False when the store does not open.
    private func readSingly(_ disk: MemoryDisk, _ place: String) -> Bool {
      guard let store = try? disk.store(), let view = try? store.view() else { return false }
      for space in spaces {
        for number in 0..<24 {
          do throws(StoreError) {
            if let value = try view.value(space, key(number)) {
              try wasWritten([space.id: [key(number): value]], place)
            }
          } catch {
            #expect([.damaged, .foreign, .newerFormat].contains(error.code), "\(place): \(error)")
          }
        }
      }
      return true
    }

    private func wasWritten(_ rows: History.Rows, _ place: String) throws(StoreError) {
      for (space, found) in rows {
        for (key, value) in found {
          let isKnown = history.states.contains { $0[space]?[key] == value }
          #expect(isKnown, "\(place): a value that nobody wrote")
        }
      }
    }
  }

  @Test(
    "Files cut at any length end in an error, a finding or right data", arguments: [true, false])
  func cuts(isKilled: Bool) throws {
    let sample = try Sample()
    let disk = isKilled ? sample.killed : sample.closed
    var opened = 0
    for path in disk.paths {
      let bytes = try #require(disk[path])
      for length in lengths(bytes) {
        let cut = disk.copied()
        cut[path] = Bytes(bytes.prefix(length))
        if sample.check(cut, isKilled: isKilled, "\(path) cut to \(length) of \(bytes.count)") {
          opened += 1
        }
      }
    }
    #expect(opened > 200)
  }

  @Test(
    "A flipped bit in any byte ends in an error, a finding or right data", arguments: [true, false])
  func flips(isKilled: Bool) throws {
    let sample = try Sample()
    let disk = isKilled ? sample.killed : sample.closed
    var random = Seeded(4)
    var opened = 0
    for path in disk.paths {
      let bytes = try #require(disk[path])
      for at in lengths(bytes) {
        let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &random)
        let flipped = disk.copied()
        flipped[path]?[at] ^= bit
        let place = "\(path), byte \(at) of \(bytes.count), bit \(bit)"
        if sample.check(flipped, isKilled: isKilled, place) { opened += 1 }
      }
    }
    #expect(opened > 2_000)
  }

  /// Every length below a file's, but in the zeros at its end and amid it few.
  private func lengths(_ bytes: Bytes) -> [Int] {
    bytes.indices.filter { at in
      at % 61 == 0 || bytes[max(0, at - 16)...min(bytes.count - 1, at + 16)].contains { $0 != 0 }
    }
  }

  @Test("A missing file is named, and nothing is removed")
  func missing() throws {
    let sample = try Sample()
    for path in sample.closed.paths where path != "store/reserve" {
      let disk = sample.closed.copied()
      disk[path] = nil
      let left = disk.paths
      do throws(StoreError) {
        _ = try disk.store()
        Issue.record("opened without \(path)")
      } catch {
        #expect(error.code == .damaged)
        #expect(error.message.contains(path), "\(error)")
      }
      #expect(disk.paths == left)
    }
  }

  @Test("Files of another store are foreign, those of a later version newer, and all stay")
  func others() throws {
    let (sample, other) = (try Sample(), try Sample())
    for path in sample.closed.paths where path != "store/reserve" {
      let disk = sample.closed.copied()
      disk[path] = other.closed[path]
      let left = disk.paths
      let failed = code { () throws(StoreError) in
        let store = try disk.store()
        _ = try History.read(store)
      }
      #expect(failed == .foreign, "\(path)")
      #expect(left.allSatisfy(disk.paths.contains), "\(path)")
      // A header of a later format, with a sound checksum.
      let newer = sample.closed.copied()
      var bytes = try #require(newer[path])
      bytes[8] = 2
      let sum = XXHash64.hash(Bytes(bytes[..<56]))
      for i in 0..<8 { bytes[56 + i] = UInt8(truncatingIfNeeded: sum >> (8 * i)) }
      newer[path] = bytes
      let refused = code { () throws(StoreError) in
        let store = try newer.store()
        _ = try History.read(store)
      }
      #expect(refused == .newerFormat, "\(path)")
      #expect(newer[path] == bytes)
    }
  }

  @Test("What an earlier life left behind goes, what is not the store's stays")
  func sweep() throws {
    let sample = try Sample()
    let disk = sample.closed.copied()
    let (segment, other) = (Bytes(repeating: 0, count: 500), Bytes("a letter".utf8))
    let number: UInt64 = 0xAA
    let own = try #require(disk["store/manifest"])
    let manifest = try Manifest(own, "manifest")
    let header = FileHeader(kind: .segment, store: manifest.store, number: number).bytes
    disk["store/00000000000000aa.segment"] = header
    disk["store/00000000000000ab.table"] = segment
    disk["store/00000000000000ac.segment"] = other
    disk["store/letter.txt"] = other
    disk["store/00000000000000aa-64.damaged"] = other
    let store = try disk.store()
    #expect(try History.read(store) == sample.history.states[14])
    #expect(disk["store/00000000000000aa.segment"] == nil)
    #expect(disk["store/00000000000000ab.table"] == nil)
    #expect(disk["store/00000000000000ac.segment"] == other)
    #expect(disk["store/letter.txt"] == other)
    #expect(disk["store/00000000000000aa-64.damaged"] == other)
    // Numbers in use are not given again.
    for n in 0..<40 { try store.put(blobs, key(n), Bytes(repeating: 1, count: 3000)) }
    #expect(disk["store/00000000000000ac.segment"] == other)
    try store.close()
  }
}
