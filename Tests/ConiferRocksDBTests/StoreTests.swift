#if RocksDB
  import ConiferKeyValue
  import TestSupport
  import Testing

  @testable import ConiferRocksDB

  @Suite("RocksDB as an ordered store")
  struct StoreTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    func fill(_ store: RocksDBStore, _ range: Range<Int>, _ size: Int) throws(StoreError) {
      var batch = Batch()
      for n in range { batch.put(blobs, key(n), Bytes(repeating: UInt8(n & 0xff), count: size)) }
      _ = try store.apply(batch, .process)
    }

    func tidied(_ store: RocksDBStore) throws(StoreError) {
      for _ in 0..<1000 { if try !store.tidy(.milliseconds(5)) { return } }
    }

    @Test("Live bytes are exact under any edits, and outlive a crash with their commit")
    func live() throws {
      let store = try RocksDBStore(at: scratch.store)
      let seed = UInt64.random(in: 0...UInt64.max)
      var random = Seeded(seed)
      for round in 0..<60 {
        var batch = Batch()
        for _ in 0..<Int.random(in: 0..<60, using: &random) {
          let name = key(Int.random(in: 0..<400, using: &random))
          switch Int.random(in: 0..<10, using: &random) {
          case 0..<6:
            batch.put(
              blobs, name, Bytes(repeating: 1, count: Int.random(in: 0..<900, using: &random)))
          case 6..<9: batch.delete(blobs, name)
          default:
            let width = Int.random(in: 0..<250, using: &random)
            batch.clear(blobs, from: name, to: key(Int(name[2]) << 8 + Int(name[3]) + width))
          }
        }
        _ = try store.apply(batch, .process)
        var sum = 0
        for row in try contents(store.view(), blobs) { sum += 16 + row[0].count + row[1].count }
        #expect(try store.size().live == sum, "seed \(seed), round \(round)")
      }
      let live = try store.size().live
      try store.suspend()
      try store.resume()
      #expect(try store.size().live == live)
      try store.close()
    }

    @Test("Tidying gives the space of deleted rows back, in slices, and then has nothing to do")
    func tidy() throws {
      var options = RocksDBOptions()
      options.memtable = 1 << 20
      let store = try RocksDBStore(at: scratch.store, options)
      for round in 0..<40 { try fill(store, round * 50..<(round * 50 + 50), 8000) }
      try tidied(store)
      let full = try store.size()
      #expect(full.live > 15 << 20)
      #expect(full.file < full.live * 3 / 2)
      var batch = Batch()
      batch.clear(blobs, from: key(100), to: key(1900))
      _ = try store.apply(batch, .process)
      let cleared = try store.size()
      #expect(cleared.live < 2 << 20)
      #expect(cleared.free > 12 << 20)
      try tidied(store)
      let after = try store.size()
      #expect(after.file < 3 << 20, "\(after)")
      #expect(try store.tidy(.milliseconds(5)) == false)
      #expect(try contents(store.view(), blobs).count == 200)
      try store.close()
    }

    @Test("A commit that would take the volume's reserve is full; deleting and reading go on")
    func reserve() throws {
      var options = RocksDBOptions()
      let store = try RocksDBStore(at: scratch.store, options)
      try fill(store, 0..<10, 100)
      try store.close()
      let room = try #require(System.room(at: scratch.store))
      options.reserve = room * 2
      let tight = try RocksDBStore(at: scratch.store, options)
      #expect(code { () throws(StoreError) in try fill(tight, 10..<20, 100) } == .full)
      #expect(try contents(tight.view(), blobs).count == 10)
      var batch = Batch()
      batch.delete(blobs, key(3))
      _ = try tight.apply(batch, .power)
      #expect(try contents(tight.view(), blobs).count == 9)
      try tight.close()
    }

    @Test("Values as large as several memtables, and the commits after them, come back")
    func large() throws {
      var options = RocksDBOptions()
      options.memtable = 1 << 20
      for round in 0..<3 {
        let store = try RocksDBStore(at: scratch.store, options)
        for n in 0..<3 {
          try store.put(blobs, key(round * 10 + n), Bytes(repeating: 7, count: 5 << 20))
          try store.put(rows, key(round * 10 + n), [1])
        }
        try store.close()
      }
      let store = try RocksDBStore(at: scratch.store, options)
      #expect(try contents(store.view(), blobs).allSatisfy { $0[1].count == 5 << 20 })
      #expect(try contents(store.view(), rows).count == 9)
      try store.close()
    }

    @Test("Spaces 0 and 255 are the store's own")
    func reserved() throws {
      let store = try RocksDBStore(at: scratch.store)
      for id in [0, 255] as [UInt8] {
        var batch = Batch()
        batch.put(rows, [1], [1])
        batch.clear(Space(id: id, shape: .rows), from: [], to: [0xFF])
        #expect(code { () throws(StoreError) in _ = try store.apply(batch, .relaxed) } == .invalid)
      }
      #expect(try store.view().value(rows, [1]) == nil)
      try store.close()
    }
  }
#endif
