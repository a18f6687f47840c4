import ConiferKeyValue
import ConiferLMDB
import Testing

@Suite("LMDB files are checked before they are mapped")
struct FileTests {
  static let space = Space(id: 7, shape: .blobs)

  /// A directory with a closed store of some commits, and the bytes of its file.
  static func filled() throws -> (TemporaryDirectory, [UInt8]) {
    let directory = TemporaryDirectory()
    let store = try LMDBStore(at: directory.path)
    for round in 0..<6 {
      var batch = Batch()
      for i in 0..<60 {
        batch.put(space, [UInt8(i), UInt8(round)], Bytes(repeating: UInt8(i), count: i * 97))
      }
      if round == 3 { batch.clear(space, from: [10], to: [20]) }
      _ = try store.apply(batch, .process)
    }
    try store.close()
    return (directory, Files.read(directory.path + "/data.mdb"))
  }

  /// Opens a store and says with which code that failed, reading all of it when it did not.
  static func open(_ path: String) -> StoreError.Code? {
    do throws(StoreError) {
      let store = try LMDBStore(at: path)
      let view = try store.view()
      var total = 0
      try view.walk(space, .atOrAfter([])) { key, value in
        total += key.byteCount + value.withUnsafeBytes { $0.reduce(0) { $0 + Int($1) } }
        return .next
      }
      view.close()
      try store.close()
      return nil
    } catch {
      return error.code
    }
  }

  @Test("A file cut at any page, or within one, is damaged and left as it was")
  func cut() throws {
    let (directory, bytes) = try Self.filled()
    let name = directory.path + "/data.mdb"
    let pages = bytes.count / 4096
    #expect(pages > 20)
    var cuts = (0..<pages).map { $0 * 4096 }
    cuts += (0..<60).map { bytes.count * $0 / 61 + 13 * $0 % 977 }
    cuts += [1, 15, 16, 20, 40, 151, 152, 4095, 4097, 4096 + 151, bytes.count - 1]
    for length in cuts where length < bytes.count {
      Files.write(name, Array(bytes[..<length]))
      #expect(Self.open(directory.path) == .damaged, "cut to \(length) of \(bytes.count)")
      #expect(Files.read(name) == Array(bytes[..<length]), "opening changed a damaged file")
    }
    Files.write(name, bytes)
    #expect(Self.open(directory.path) == nil)
  }

  @Test("A flipped bit in what opening depends on of a meta page is noticed")
  func flipped() throws {
    let (directory, bytes) = try Self.filled()
    let name = directory.path + "/data.mdb"
    // Number, flags, magic, version, page size, roots' depth and place, last page's high bytes,
    // transaction: by their offsets in a meta page.
    let fields = [0..<8, 10..<12, 16..<24, 40..<44, 44..<46, 92..<94, 144..<152]
    var newest = 0
    if bytes[4096 + 144] > bytes[144] { newest = 4096 }
    for page in [0, 4096] {
      for offset in fields.joined() {
        for bit in [0, 6] {
          var flipped = bytes
          flipped[page + offset] ^= 1 << bit
          Files.write(name, flipped)
          let code = Self.open(directory.path)
          #expect(
            code == .damaged || code == .newerFormat || code == .foreign,
            "page \(page), offset \(offset), bit \(bit) gave \(String(describing: code))")
        }
      }
    }
    for offset in [128, 129, 130, 134, 139, 141, 94, 46] {
      var flipped = bytes
      flipped[newest + offset] ^= 0x41
      Files.write(name, flipped)
      #expect(Self.open(directory.path) == .damaged, "newest meta page, offset \(offset)")
    }
  }

  @Test("A file that is not LMDB's is foreign and left as it was")
  func foreign() throws {
    for bytes in [
      Array("A letter to my aunt, which is longer than twenty bytes.\n".utf8),
      Array("SQLite format 3\u{0}".utf8) + [UInt8](repeating: 1, count: 20_000), [1],
    ] {
      let directory = TemporaryDirectory()
      Files.write(directory.path + "/data.mdb", bytes)
      #expect(Self.open(directory.path) == .foreign)
      #expect(Files.read(directory.path + "/data.mdb") == bytes)
    }
  }

  @Test("A file in the place of the directory is an error that says so")
  func fileInPlace() {
    let directory = TemporaryDirectory()
    Files.write(directory.path + "/store", [1])
    #expect(Self.open(directory.path + "/store") == .foreign)
    #expect(Self.open(directory.path + "/store/deeper") == .foreign)
  }

  @Test("A store of a newer format is refused by name, one without a record is foreign")
  func record() throws {
    let (directory, bytes) = try Self.filled()
    let name = directory.path + "/data.mdb"
    let magic = Array("Conifer LMDB".utf8)
    let places = bytes.indices.dropLast(20).filter { bytes[$0...].starts(with: magic) }
    #expect(!places.isEmpty)
    var newer = bytes
    var foreign = bytes
    for place in places {
      newer[place + magic.count] = 2
      foreign[place] = 0
    }
    Files.write(name, newer)
    #expect(Self.open(directory.path) == .newerFormat)
    Files.write(name, foreign)
    #expect(Self.open(directory.path) == .foreign)
    Files.write(name, bytes)
    #expect(Self.open(directory.path) == nil)
  }

  @Test("A creation that was interrupted is begun anew")
  func interrupted() throws {
    for rest in [[], [0, 0, 0], [UInt8](repeating: 0, count: 9000)] as [[UInt8]] {
      let directory = TemporaryDirectory()
      Files.makeDirectory(directory.path + "/new")
      Files.write(directory.path + "/new/data.mdb", rest)
      #expect(Self.open(directory.path) == nil)
      #expect(Self.open(directory.path) == nil)
    }
  }

  @Test(
    "Files without permission are denied",
    .disabled(if: Files.isRoot, "root may read everything"))
  func denied() throws {
    let (directory, _) = try Self.filled()
    Files.setMode(directory.path + "/data.mdb", 0)
    #expect(Self.open(directory.path) == .denied)
    Files.setMode(directory.path + "/data.mdb", 0o600)
    Files.setMode(directory.path, 0o500)
    #expect(Self.open(directory.path + "/inner") == .denied)
    Files.setMode(directory.path, 0o700)
    #expect(Self.open(directory.path) == nil)
  }

  @Test("A file that rightly ends before its last page opens, with all its rows")
  func shortTail() throws {
    // Pages that a transaction takes at the end and gives back are never written. The store
    // lengthens the file after the commit; a crash in between is played by cutting that off again.
    var state: UInt64 = 1
    func random(_ below: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % below
    }
    var cuts = 0
    for _ in 0..<60 where cuts < 5 {
      let directory = TemporaryDirectory()
      let copy = TemporaryDirectory()
      let name = directory.path + "/data.mdb"
      let store = try LMDBStore(at: directory.path)
      for round in 0..<150 where cuts < 5 {
        var batch = Batch()
        for _ in 0...random(30) {
          let key = [UInt8(random(60))]
          if random(2) == 0 {
            let size = random(3) > 0 ? random(3000) : random(30_000)
            batch.put(Self.space, key, Bytes(repeating: UInt8(random(255) + 1), count: size))
          } else {
            batch.delete(Self.space, key)
          }
        }
        _ = try store.apply(batch, .relaxed)
        // What LMDB left out is a hole: zeros to the end.
        guard Files.tail(name).allSatisfy({ $0 == 0 }) else { continue }
        let bytes = Files.read(name)
        let written = bytes.count - bytes.reversed().prefix { $0 == 0 }.count
        let end = (written + 4095) / 4096 * 4096
        cuts += 1
        Files.write(copy.path + "/data.mdb", Array(bytes[..<end]))
        #expect(Self.open(copy.path) == nil, "after round \(round)")
      }
      try store.close()
    }
    #expect(cuts > 0, "no commit left a short tail, so nothing was tried")
  }
}
