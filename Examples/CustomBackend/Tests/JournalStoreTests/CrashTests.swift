import ConiferKeyValue
import ConiferStorage
import JournalStore
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A directory for one test, removed with it.
final class Directory: Sendable {
  let path: String
  var journal: String { path + "/journal" }

  init() {
    let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array((base + "/journal-XXXXXX").utf8CString)
    _ = mkdtemp(&template)
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    for name in ["journal", "owner", "reserve"] { unlink(path + "/" + name) }
    rmdir(path)
  }

  func read() -> Bytes {
    guard let file = fopen(journal, "rb") else { return [] }
    defer { fclose(file) }
    var bytes = Bytes(repeating: 0, count: 1 << 20)
    bytes.removeSubrange(fread(&bytes, 1, bytes.count, file)...)
    return bytes
  }

  func write(_ bytes: Bytes) {
    guard let file = fopen(journal, "wb") else { return }
    defer { fclose(file) }
    fwrite(bytes, 1, bytes.count, file)
  }
}

@Suite("The journal after a crash")
struct CrashTests {
  static let space = Space(id: 1, shape: .rows)
  let directory = Directory()

  /// The bytes of a journal of 30 commits, as a killed process leaves them.
  func crashed(power: Int? = nil) throws -> Bytes {
    let store = try JournalStore(at: directory.path)
    for n in 0..<30 {
      var batch = Batch()
      batch.put(Self.space, [UInt8(n)], Bytes(repeating: UInt8(n), count: 20 * n))
      _ = try store.apply(batch, n == power ? .power : .process)
    }
    let bytes = directory.read()
    try store.close()
    return bytes
  }

  /// How many commits are there; fails when they are no prefix.
  func commits() throws -> Int {
    let store = try JournalStore(at: directory.path)
    var keys: [UInt8] = []
    try store.view().walk(Self.space, .atOrAfter([])) { key, _ in
      keys.append(Bytes(key)[0])
      return .next
    }
    try store.close()
    #expect(keys == (0..<UInt8(keys.count)).map { $0 })
    return keys.count
  }

  @Test("A journal cut anywhere holds a prefix of the commits, or is damaged in its first frame")
  func cut() throws {
    let whole = try crashed()
    var last = 0
    for length in stride(from: 0, through: whole.count, by: 37) {
      directory.write(Bytes(whole[..<length]))
      do {
        let found = try commits()
        #expect(found >= last)
        last = found
      } catch let error as StoreError {
        #expect(error.code == .damaged && length < 100)
      }
    }
    #expect(last > 28)
  }

  @Test("Damage in what was synced is told, damage behind it ends the journal")
  func damage() throws {
    let whole = try crashed(power: 20)
    var refused = 0
    for offset in stride(from: 0, to: whole.count, by: 41) {
      var bytes = whole
      bytes[offset] ^= 4
      directory.write(bytes)
      do {
        #expect(try commits() > 20)
      } catch let error as StoreError {
        #expect([.damaged, .foreign, .newerFormat].contains(error.code))
        #expect(directory.read() == bytes)
        refused += 1
      }
    }
    #expect((refused * 41) > whole.count / 3)
  }

  @Test("Spaces 0 and 255 are refused, with all of their batch")
  func reserved() throws {
    let store = try JournalStore(at: directory.path)
    for id in [0, 255] as [UInt8] {
      var batches = [Batch(), Batch(), Batch()]
      let space = Space(id: id, shape: .rows)
      batches[0].put(space, [1], [1])
      batches[1].delete(space, [1])
      batches[2].clear(space, from: [], to: [2])
      for var batch in batches {
        batch.put(Self.space, [1], [1])
        let error = #expect(throws: StoreError.self) { _ = try store.apply(batch, .process) }
        #expect(error?.code == .invalid)
      }
    }
    #expect(try store.view().value(Self.space, [1]) == nil)
    try store.close()
    #expect(try commits() == 0)
  }

  @Test("Rows count as the same before and after the file is written anew")
  func live() throws {
    _ = try crashed()
    for n in 0..<3 as Range<UInt8> {
      let store = try JournalStore(at: directory.path)
      var batch = Batch()
      batch.put(Self.space, [n, n], [1, 2, 3])
      batch.delete(Self.space, [n])
      _ = try store.apply(batch, .process)
      let live = try store.size().live
      try store.close()
      let folded = try JournalStore(at: directory.path)
      #expect(try folded.size().live == live)
      try folded.close()
    }
  }

  @Test("A reserve that a full disk cut short is completed")
  func reserve() throws {
    try JournalStore(at: directory.path).close()
    for length in [0, 1000, 1 << 18] {
      truncate(directory.path + "/reserve", off_t(length))
      try JournalStore(at: directory.path).close()
      var info = stat()
      stat(directory.path + "/reserve", &info)
      #expect(info.st_size == 1 << 18, "after it was \(length)")
    }
  }
}
