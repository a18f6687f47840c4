#if RocksDB
  import ConiferKeyValue
  import TestSupport
  import Testing

  @testable import ConiferRocksDB

  @Suite("RocksDB's files are checked before RocksDB opens them")
  struct FileTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    /// Opens, walks everything, and closes; the code of what failed.
    func opened() -> StoreError.Code? {
      code { () throws(StoreError) in
        let store = try RocksDBStore(at: scratch.store)
        do throws(StoreError) {
          for space in spaces { _ = try contents(store.view(), space) }
        } catch {
          try? store.close()
          throw error
        }
        try store.close()
      }
    }

    func path(_ name: String) -> String { scratch.store + "/" + name }

    /// The name of the one file with an ending or beginning.
    func name(_ part: String) throws -> String {
      try #require(
        Scratch.names(scratch.store).last { $0.hasSuffix(part) || $0.hasPrefix(part) })
    }

    /// A store with some files, closed in order.
    func fill() throws {
      let store = try RocksDBStore(at: scratch.store)
      for round in 0..<4 {
        var batch = Batch()
        for n in 0..<100 {
          batch.put(rows, key(round * 100 + n), Bytes(repeating: UInt8(n), count: 60))
          batch.put(blobs, key(round * 50 + n), Bytes(repeating: UInt8(n), count: n * 20))
        }
        _ = try store.apply(batch, .process)
      }
      try store.close()
    }

    @Test("A file that was cut or lost after an orderly close is damage, and nothing is changed")
    func cut() throws {
      try fill()
      let whole = scratch.image()
      for (name, bytes) in whole where name != "conifer.files" && !name.hasPrefix("OPTIONS") {
        guard name != "IDENTITY", name != "LOCK" else { continue }
        for length in [0, 1, bytes.count / 2, bytes.count - 1]
        where (0..<bytes.count).contains(length) {
          scratch.put(back: whole)
          Scratch.write(Bytes(bytes.prefix(length)), path(name))
          let before = scratch.image()
          #expect(opened() == .damaged, "\(name) cut to \(length)")
          #expect(scratch.image() == before, "opening changed files")
        }
        guard name != "conifer.rocksdb" else { continue }
        scratch.put(back: whole)
        Files.remove(path(name))
        #expect(opened() == .damaged, "\(name) removed")
      }
      scratch.put(back: whole)
      #expect(opened() == nil)
    }

    @Test("A flipped bit ends in a typed error at opening or reading, never in other data")
    func flips() throws {
      try fill()
      let whole = scratch.image()
      let store = try RocksDBStore(at: scratch.store)
      let expected = [try contents(store.view(), rows), try contents(store.view(), blobs)]
      try store.close()
      scratch.put(back: whole)
      let seed = UInt64.random(in: 0...UInt64.max)
      var random = Seeded(seed)
      var noticed = 0
      for _ in 0..<60 {
        scratch.put(back: whole)
        let names = whole.keys.filter {
          $0.hasSuffix(".sst") || $0.hasPrefix("MANIFEST") || $0 == "CURRENT"
        }.sorted()
        let name = names[Int.random(in: 0..<names.count, using: &random)]
        var bytes = whole[name] ?? []
        bytes[Int.random(in: 0..<bytes.count, using: &random)] ^=
          1 << UInt8.random(in: 0..<8, using: &random)
        Scratch.write(bytes, path(name))
        let found = code { () throws(StoreError) in
          let store = try RocksDBStore(at: scratch.store)
          defer { try? store.close() }
          let now = [try contents(store.view(), rows), try contents(store.view(), blobs)]
          #expect(now == expected, "seed \(seed), \(name)")
        }
        #expect(
          found == nil || found == .damaged, "seed \(seed), \(name): \(String(describing: found))")
        if found != nil { noticed += 1 }
      }
      #expect(noticed > 20, "seed \(seed)")
    }

    @Test("A foreign directory and a newer format are refused and left as they are")
    func foreign() throws {
      Scratch.write([1], scratch.store)
      #expect(opened() == .foreign)
      Files.remove(scratch.store)
      try fill()
      let whole = scratch.image()
      Files.remove(path("conifer.rocksdb"))
      var before = scratch.image()
      #expect(opened() == .damaged)
      #expect(scratch.image() == before)
      // Without a recorded kind, what Conifer made later tells.
      Files.remove(path("owner"))
      for name in ["conifer.files", "conifer.reserve"] {
        before = scratch.image()
        #expect(opened() == .damaged)
        #expect(scratch.image() == before)
        Files.remove(path(name))
      }
      // A RocksDB database of somebody else is one without anything of Conifer.
      #expect(opened() == .foreign)
      Scratch.write(Bytes("a letter to my aunt\n".utf8), path("conifer.rocksdb"))
      before = scratch.image()
      #expect(opened() == .foreign)
      #expect(scratch.image() == before)
      Scratch.write(Marker.text(format: 2), path("conifer.rocksdb"))
      before = scratch.image()
      #expect(opened() == .newerFormat)
      #expect(scratch.image() == before)
      scratch.put(back: whole)
      #expect(opened() == nil)
    }

    @Test("A creation that was interrupted is begun anew")
    func interrupted() throws {
      try fill()
      for name in ["conifer.rocksdb", "conifer.files", "conifer.reserve", "CURRENT", "owner"] {
        Files.remove(path(name))
      }
      Scratch.write(Marker.text(format: 1), path("conifer.rocksdb.new"))
      #expect(opened() == nil)
      let store = try RocksDBStore(at: scratch.store)
      #expect(try contents(store.view(), rows).isEmpty)
      try store.close()
      #expect(!Scratch.names(scratch.store).contains("conifer.rocksdb.new"))
    }

    @Test("RocksDB keeps no log of what it does, and no file names this computer")
    func informationLogs() throws {
      for _ in 0..<3 {
        let store = try RocksDBStore(at: scratch.store)
        try store.put(rows, [1], [1])
        try store.close()
      }
      let told = Scratch.names(scratch.store).filter { $0.hasPrefix("LOG") }
      #expect(told.count <= 1 && told.allSatisfy { Scratch.read(path($0)).isEmpty })
      #expect(!Scratch.names(scratch.store).contains { $0.hasPrefix("OPTIONS") })
      let host = Files.hostName()
      for name in Scratch.names(scratch.store) where name != "owner" && host.count > 3 {
        let bytes = Scratch.read(path(name))
        let isNamed = bytes.indices.contains { bytes[$0...].starts(with: host) }
        #expect(!isNamed, "\(name)")
      }
    }
  }
#endif
