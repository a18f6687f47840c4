#if RocksDB
  import ConiferKeyValue
  import TestSupport
  import Testing

  @testable import ConiferRocksDB

  @Suite("RocksDB's compaction") struct RestTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    /// Opens the store, commits and closes it: each time leaves a file at the top level.
    func use(commits: Int) throws {
      let store = try RocksDBStore(at: scratch.store)
      for number in 0..<commits {
        var batch = Batch()
        batch.put(blobs, key(number), Bytes(repeating: 7, count: 40))
        _ = try store.apply(batch, .process)
      }
      try store.close()
    }

    /// Waits until files of the top level were compacted.
    func waitForCompaction(_ store: RocksDBStore, below count: Int) throws {
      let end = ContinuousClock.now + .seconds(120)
      while try store.engine().filesAtTop >= count {
        try #require(ContinuousClock.now < end, "nothing was compacted")
        System.pause()
      }
    }

    @Test("rests until the second commit behind an opening")
    func second() throws {
      // Four files would be compacted else.
      for _ in 0..<7 { try use(commits: 1) }
      let store = try RocksDBStore(at: scratch.store)
      #expect(try store.engine().filesAtTop >= 7)
      var batch = Batch()
      batch.put(blobs, key(1), [1])
      _ = try store.apply(batch, .process)
      #expect(try store.engine().filesAtTop >= 7)
      _ = try store.apply(batch, .power)
      try waitForCompaction(store, below: 4)
      try store.close()
      #expect(try System.files(in: scratch.store).allSatisfy { !$0.name.hasSuffix(".dbtmp") })
    }

    @Test("begins with the opening when many files lie at the top level", arguments: [false, true])
    func many(afterSuspension: Bool) throws {
      var rounds = 0
      repeat {
        try use(commits: 1)
        rounds += 1
        try #require(rounds < 40, "there are never many files")
        let engine = try Engine(scratch.store, RocksDBOptions(), isReadOnly: true)
        if engine.filesAtTop >= 15 { break }
      } while true
      let store = try RocksDBStore(at: scratch.store)
      if afterSuspension {
        // One more file makes it many.
        var batch = Batch()
        batch.put(blobs, key(1), [1])
        _ = try store.apply(batch, .process)
        try store.suspend()
        try store.resume()
        try waitForCompaction(store, below: 4)
        try store.close()
      } else {
        try store.close()
        try use(commits: 1)
        let again = try RocksDBStore(at: scratch.store)
        try waitForCompaction(again, below: 4)
        try again.close()
      }
    }
  }
#endif
