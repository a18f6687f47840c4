#if RocksDB && os(Linux)
  import ConiferKeyValue
  import TestSupport
  import Testing

  @testable import ConiferRocksDB

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// A volume of its own, of few megabytes; only where this process may mount one.
  private final class SmallVolume {
    static let isPossible = SmallVolume(megabytes: 1) != nil

    let path: String
    private let scratch: Scratch

    init?(megabytes: Int) {
      guard let scratch = try? Scratch() else { return nil }
      self.scratch = scratch
      path = scratch.path + "/volume"
      Files.makeDirectory(path)
      guard mount("tmpfs", path, "tmpfs", 0, "size=\(megabytes)m") == 0 else { return nil }
    }

    deinit {
      umount(path)
      rmdir(path)
    }
  }

  @Suite(
    "RocksDB on a volume that is full", .serialized,
    .enabled(if: SmallVolume.isPossible, "This process may not mount a volume."))
  struct FullDiskTests {
    /// Commits values until the store refuses one; how many it took.
    private func fill(_ store: RocksDBStore, from first: Int, _ size: Int) -> (
      Int, StoreError.Code?
    ) {
      for n in first..<(first + 100_000) {
        let refused = code { () throws(StoreError) in
          try store.put(
            blobs, key(n), Bytes(repeating: UInt8(n & 0xff), count: size),
            n % 7 == 0 ? .power : .process)
        }
        if let refused { return (n, refused) }
      }
      return (first + 100_000, nil)
    }

    private func held(_ store: RocksDBStore) throws -> [Int] {
      let view = try store.view()
      defer { view.close() }
      return try contents(view, blobs).map { Int($0[0][2]) << 8 | Int($0[0][3]) }
    }

    // The words of RocksDB hold the path, and from them it is known what failed.
    @Test(
      "RocksDB runs out of space: reading goes on, and writing when there is room again",
      arguments: ["store", "sync.sst"])
    func outOfSpace(name: String) throws {
      let volume = try #require(SmallVolume(megabytes: 24))
      Scratch.write(Bytes(repeating: 1, count: 10 << 20), volume.path + "/ballast")
      Scratch.write(Bytes(repeating: 1, count: 2 << 20), volume.path + "/spare")
      var options = RocksDBOptions()
      options.reserve = 0
      options.memtable = 1 << 20
      options.patience = .milliseconds(50)
      let store = try RocksDBStore(at: volume.path + "/" + name, options)
      let (taken, refused) = fill(store, from: 0, 10_000)
      #expect(refused == .full)
      #expect(taken > 200)
      #expect(try held(store) == Array(0..<taken))
      // Opening RocksDB anew may have found room for some more.
      let (second, again) = fill(store, from: taken, 10_000)
      #expect(again == .full)
      #expect(try held(store) == Array(0..<second))
      unlink(volume.path + "/ballast")
      var more = second
      // After a failure a thread of RocksDB's sleeps for a second, longer than this store's patience; on a busy
      // machine it comes back much later. Only a store that never does reaches the end.
      for _ in 0..<5_000 where more <= second + 200 {
        more = fill(store, from: more, 10_000).0
        System.pause()
      }
      #expect(more > second + 200, "\(more) after \(second)")
      #expect(try held(store) == Array(0..<more))
      try? store.close()
      // Without a reserve, opening needs room of the volume's.
      unlink(volume.path + "/spare")
      let reopened = try RocksDBStore(at: volume.path + "/" + name, options)
      #expect(try held(reopened) == Array(0..<more))
      try? reopened.close()
    }

    @Test("A volume that is full but for the reserve can be emptied and filled again")
    func drained() throws {
      let volume = try #require(SmallVolume(megabytes: 48))
      let store = try RocksDBStore(at: volume.path + "/store")
      var last = 0
      for round in 0..<3 {
        let (taken, refused) = fill(store, from: last, 10_000)
        #expect(refused == .full)
        #expect(taken > last + 500, "round \(round): \(taken) after \(last)")
        for n in last..<taken {
          var batch = Batch()
          batch.delete(blobs, key(n))
          _ = try store.apply(batch, n % 10 == 0 ? .power : .process)
        }
        #expect(try held(store) == [])
        var isMore = true
        for _ in 0..<1000 where isMore {
          // A compaction under way may just have taken the rest of the volume.
          let refused = code { () throws(StoreError) in isMore = try store.tidy(.milliseconds(20)) }
          #expect(refused == nil || refused == .full)
        }
        last = taken
      }
      try store.close()
    }

    @Test("What closing frees is kept for the next opening, whatever other programs take")
    func reserveAfterClosing() throws {
      let volume = try #require(SmallVolume(megabytes: 24))
      let store = try RocksDBStore(at: volume.path + "/store")
      let reserve = volume.path + "/store/" + Reserve.name
      // Less than what is flushed in the background, which changes the room.
      let taken = 100
      for n in 0..<taken { try store.put(blobs, key(n), Bytes(repeating: 1, count: 10_000)) }
      // So little that a commit which removes something uses the reserve.
      let room = try #require(System.room(at: volume.path))
      Scratch.write(Bytes(repeating: 1, count: room - (512 << 10)), volume.path + "/ballast")
      var batch = Batch()
      batch.delete(blobs, key(0))
      _ = try store.apply(batch, .power)
      #expect(Scratch.length(reserve) == 0)
      try store.close()
      #expect(Scratch.length(reserve) >= 64 << 10)
      for n in 0..<2 {
        Scratch.write(Bytes(repeating: 1, count: 24 << 20), volume.path + "/other\(n)")
        let again = try RocksDBStore(at: volume.path + "/store")
        #expect(try held(again) == Array((n + 1)..<taken))
        var batch = Batch()
        batch.delete(blobs, key(n + 1))
        _ = try again.apply(batch, .power)
        #expect(Scratch.length(reserve) == 0)
        try again.close()
      }
    }
  }
#endif
