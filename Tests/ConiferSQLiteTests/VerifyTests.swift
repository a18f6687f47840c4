import ConiferKeyValue
import ConiferStorage
import TestSupport
import Testing

@testable import ConiferSQLite

@Suite("Checking a SQLite store")
struct VerifyTests {
  let scratch: Scratch
  init() throws { scratch = try Scratch() }

  @Test("A page that was cut out of its table is found")
  func pages() throws {
    let store = try SQLiteStore(at: scratch.store)
    for n in 0..<400 { try store.put(rows, key(n), Bytes(repeating: 1, count: 60)) }
    #expect(try findings(store) == [])
    try store.close()
    let path = scratch.store + "/conifer.sqlite"
    var bytes = Scratch.read(path)
    // The kind of every page but the first, which is the schema's.
    for page in 2..<(bytes.count / 4096) where bytes[page * 4096] == 10 { bytes[page * 4096] = 13 }
    Scratch.write(bytes, path)
    let again = try SQLiteStore(at: scratch.store)
    let found = try findings(again)
    #expect(!found.isEmpty && found.allSatisfy { $0.file == path })
    try? again.close()
  }

  @Test("A changed byte in a frame of the log is found while the store is open")
  func log() throws {
    let store = try SQLiteStore(at: scratch.store)
    for n in 0..<20 { try store.put(rows, key(n), Bytes(repeating: 1, count: 60)) }
    let path = scratch.store + "/conifer.sqlite-wal"
    let original = Scratch.read(path)
    let frame = 24 + 4096
    let count = (original.count - 32) / frame
    #expect(count > 10)
    #expect(FrameChain.soundFrames(path, atMost: .max) == count)
    for number in [0, 3, count - 1] {
      var bytes = original
      bytes[32 + number * frame + 24 + 4000] ^= 1
      Scratch.write(bytes, path)
      let found = try findings(store)
      #expect(found.contains { $0.file == path && $0.words.contains("frame \(number + 1) ") })
      Scratch.write(original, path)
    }
    #expect(try findings(store) == [])
    _ = try store.tidy(.seconds(1))
    #expect(try findings(store) == [])
    try store.close()
  }
}
