#if RocksDB
  import ConiferKeyValue
  import TestSupport
  import Testing

  @testable import ConiferRocksDB

  @Suite("RocksDB's write-ahead log after a crash")
  struct LogTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    func path(_ name: String) -> String { scratch.store + "/" + name }

    /// The files of a store of some commits that was never closed, as a killed process leaves them.
    ///
    /// - Parameter power: which commits are synced.
    func crashed(
      _ commits: Int, size: Int? = nil, power: (Int) -> Bool = { _ in false }
    ) throws -> [String: Bytes] {
      let store = try RocksDBStore(at: scratch.store)
      for n in 1...commits {
        var batch = Batch()
        batch.put(rows, [0], key(n))
        batch.put(blobs, key(n), Bytes(repeating: UInt8(n & 0xff), count: size ?? n * 100))
        _ = try store.apply(batch, power(n) ? .power : .process)
      }
      let image = scratch.image()
      try store.close()
      return image
    }

    func log(of image: [String: Bytes]) throws -> String {
      try #require(
        image.keys.filter { $0.hasSuffix(".log") }.max {
          image[$0]?.count ?? 0 < image[$1]?.count ?? 0
        })
    }

    /// Opens the store and tells how many commits it holds; fails when they are no prefix.
    func commits(_ comment: String) throws -> Int {
      let store = try RocksDBStore(at: scratch.store)
      defer { try? store.close() }
      let view = try store.view()
      let last = try view.value(rows, [0]).map { Int($0[2]) << 8 | Int($0[3]) } ?? 0
      let found = try contents(view, blobs).map { Int($0[0][2]) << 8 | Int($0[0][3]) }
      #expect(found == Array(1..<(last + 1)), "\(comment)")
      return last
    }

    @Test("A log cut anywhere leaves a prefix of the commits, and the store goes on from there")
    func cut() throws {
      let image = try crashed(60)
      let name = try log(of: image)
      let whole = try #require(image[name])
      #expect(whole.count > 4 * 32768, "the log must have several blocks")
      let seed = UInt64.random(in: 0...UInt64.max)
      var random = Seeded(seed)
      var last = 0
      let cuts = [0, 1, 32767, 32768, 32769, whole.count - 1, whole.count]
      for length in (cuts + (0..<25).map { _ in Int.random(in: 0..<whole.count, using: &random) })
        .sorted()
      {
        var torn = image
        torn[name] = Bytes(whole.prefix(length))
        scratch.put(back: torn)
        let found = try commits("seed \(seed), cut to \(length)")
        #expect(found >= last, "seed \(seed): a longer log holds less")
        last = found
        // What is committed after a cut is there at the next opening.
        let store = try RocksDBStore(at: scratch.store)
        try store.put(rows, [9], [9], .power)
        try store.close()
        let again = try RocksDBStore(at: scratch.store)
        #expect(try again.view().value(rows, [9]) == [9])
        try again.close()
      }
      #expect(last == 60)
    }

    @Test("A page that a power cut left out makes no hole: the commits end before it")
    func gap() throws {
      let image = try crashed(60)
      let name = try log(of: image)
      let whole = try #require(image[name])
      for page in stride(from: 0, to: whole.count / 4096, by: 2) {
        var torn = image
        var bytes = whole
        for i in (page * 4096)..<((page + 1) * 4096) { bytes[i] = 0 }
        torn[name] = bytes
        scratch.put(back: torn)
        let found = try commits("page \(page) of \(whole.count / 4096)")
        #expect(found < 60)
      }
    }

    @Test("A write that a power cut left out makes no hole either")
    func lostWrite() throws {
      let image = try crashed(120, size: 900)
      let name = try log(of: image)
      let whole = try #require(image[name])
      #expect(whole.count > 3 * 32768)
      // Three edits a commit, after that of the creation.
      func end(_ commits: Int) -> Int { WriteAheadLog(whole, upTo: UInt64(1 + 3 * commits)).end }
      for commit in stride(from: 5, to: 120, by: 9) {
        var bytes = whole
        for i in end(commit - 1)..<end(commit) { bytes[i] = 0 }
        var torn = image
        torn[name] = bytes
        scratch.put(back: torn)
        #expect(try commits("without commit \(commit)") == commit - 1)
      }
    }

    @Test("Damage in what was synced is refused, and the log left as it was")
    func damage() throws {
      let image = try crashed(60) { $0 == 40 }
      let name = try log(of: image)
      let whole = try #require(image[name])
      var refused = 0
      var cut = 0
      for i in stride(from: 10, to: whole.count, by: whole.count / 60) {
        var bytes = whole
        bytes[i] ^= 0x10
        var broken = image
        broken[name] = bytes
        scratch.put(back: broken)
        let result = code { () throws(StoreError) in try RocksDBStore(at: scratch.store).close() }
        if result == .damaged {
          refused += 1
          #expect(cut == 0, "damage at \(i) behind damage that was cut")
          #expect(Scratch.read(path(name)) == bytes)
        } else {
          #expect(result == nil)
          cut += 1
          #expect(try commits("damage at \(i)") >= 40)
        }
      }
      // 40 of 60 commits are synced, which is not quite half of the bytes.
      #expect(refused > 20 && cut > 20, "\(refused) refused, \(cut) cut")
    }

    @Test(
      "The first record of a log that a compaction began may be torn: the commits end before it")
    func afterTidy() throws {
      let store = try RocksDBStore(at: scratch.store)
      try store.put(rows, key(1), [1], .power)
      try store.suspend()
      try store.resume()
      // What replaces nothing is not reason enough for tidying to flush it first.
      try store.put(rows, key(2), [2], .power)
      while try store.tidy(.seconds(10)) {}
      try store.put(rows, key(3), [3], .process)
      try store.put(rows, key(4), [4], .process)
      var torn = scratch.image()
      try store.close()
      let name = try log(of: torn)
      var bytes = try #require(torn[name])
      let first = try #require(WriteAheadLog.record(bytes, at: 0))
      #expect(first.end < bytes.count)
      bytes.replaceSubrange(0..<first.end, with: repeatElement(0, count: first.end))
      torn[name] = bytes
      scratch.put(back: torn)
      let again = try RocksDBStore(at: scratch.store)
      #expect(try contents(again.view(), rows).map(\.first) == [key(1), key(2)])
      try again.close()
    }

    @Test("What was not acknowledged is cut off at a sequence number")
    func upTo() throws {
      let image = try crashed(20)
      let whole = try #require(image[try log(of: image)])
      let read = WriteAheadLog(whole)
      #expect(read.end == whole.count && !read.isDamaged)
      // Three edits a commit, two rows and the store's own, after that of the creation.
      var ends: Set<Int> = []
      for commits in 0...20 {
        let cut = WriteAheadLog(whole, upTo: UInt64(1 + 3 * commits))
        ends.insert(cut.end)
        #expect(!cut.isDamaged)
        #expect((cut.end == whole.count) == (commits == 20))
      }
      #expect(ends.count == 21)
    }

    @Test("After kill -9 every acknowledged commit is there")
    func killed() async throws {
      let path = scratch.store
      for round in 0..<3 {
        await #expect(processExitsWith: .signal(9)) {
          [path = path as String, round = round as Int] in
          let store = try RocksDBStore(at: path)
          let held = try store.view()
          for n in 0..<200 {
            var batch = Batch()
            batch.put(rows, [0], key(round * 200 + n))
            batch.put(blobs, key(round * 200 + n), Bytes(repeating: 1, count: 50 * n))
            _ = try store.apply(batch, n % 50 == 0 ? .power : n % 2 == 0 ? .process : .relaxed)
          }
          _ = try held.value(rows, [0])
          Files.die()
        }
        let store = try RocksDBStore(at: path)
        let view = try store.view()
        #expect(try contents(view, blobs).count == 200 * (round + 1))
        #expect(try view.value(rows, [0]) == key(200 * round + 199))
        view.close()
        try store.close()
      }
    }

    @Test("A second process is told who owns the store")
    func secondProcess() async throws {
      let path = scratch.store
      let store = try RocksDBStore(at: path)
      await #expect(processExitsWith: .success) { [path = path as String] in
        do throws(StoreError) {
          _ = try RocksDBStore(at: path)
          Issue.record("a second process was let in")
        } catch {
          #expect(error.code == .busy)
          #expect(error.message.hasPrefix("Process "))
        }
      }
      try store.close()
    }
  }
#endif
