#if RocksDB && os(Linux)
  import ConiferKeyValue
  import TestSupport
  import Testing

  @testable import ConiferRocksDB
  @testable import StorageConformance

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// What failing disks showed, each in the fewest steps.
  @Suite("RocksDB on a failing disk", .enabled(if: IOSession.isAvailable))
  struct FailingDiskTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    /// A store with a commit that is not synced, on a disk that is full since, and has refused another.
    private func full() throws -> (IOSession, RocksDBStore, CommitID) {
      // What cannot be opened for writing any more is then open for reading.
      let session = try IOSession.fail(
        scratch.path, at: nil, with: .error(EIO), counting: .syncs)
      let store = try RocksDBStore(at: scratch.store)
      var batch = Batch()
      batch.put(rows, [1], Bytes(repeating: 1, count: 100))
      let id = try store.apply(batch, .process)
      session.setFull(true)
      for _ in 0..<2 {
        let refused = code { () throws(StoreError) in
          try store.put(rows, [2], Bytes(repeating: 2, count: 9000), .process)
        }
        #expect(refused == .full)
      }
      #expect(try store.view().value(rows, [1])?.count == 100)
      return (session, store, id)
    }

    @Test("RocksDB's words tell of damage and of refused reads, whatever the path is called")
    func words() {
      let path = "/data/sync/.sst/No such file or directory"
      func found(_ words: String) -> StoreError.Code {
        StoreError.rocksDB(words, "read", path).code
      }
      #expect(
        found("Corruption: cannot be opened: IO error: Input/output error: \(path)/MANIFEST-1")
          == .io)
      #expect(
        found("Corruption: IO error: No such file or directory: \(path)/000007.sst") == .damaged)
      #expect(found("Corruption: block checksum mismatch in \(path)/000007.sst") == .damaged)
      let full = "IO error: No space left on device: While appending to file: \(path)/000007.log"
      #expect(found(full) == .full)
      #expect(!StoreError.mentionsSync(full, path) && !StoreError.mentionsFlushedFile(full, path))
      #expect(StoreError.mentionsSync("IO error: No space left: While fdatasync: \(path)/7", path))
      #expect(StoreError.mentionsFlushedFile("IO error: While appending: \(path)/7.sst", path))
    }

    @Test("On a full disk hardening syncs what was taken before")
    func harden() throws {
      let (session, store, id) = try full()
      let before = session.operationCount
      try store.harden(id)
      #expect(session.operationCount > before)
      try store.close()
      #expect(session.openDescriptors.isEmpty)
    }

    @Test("On a full disk a failed sync poisons, as everywhere")
    func poison() throws {
      let (session, store, id) = try full()
      session.fail(at: session.operationCount, with: .error(EIO))
      #expect(code { () throws(StoreError) in try store.harden(id) } == .io)
      session.setFull(false)
      let refused = code { () throws(StoreError) in try store.put(rows, [3], [3], .process) }
      #expect(refused == .poisoned)
      #expect(code { () throws(StoreError) in try store.close() } == .poisoned)
    }

    @Test(
      "On a full disk closing and suspending sync what was taken before", arguments: [true, false])
    func close(isClosing: Bool) throws {
      let (session, store, _) = try full()
      session.fail(at: session.operationCount, with: .error(EIO))
      let failed = code { () throws(StoreError) in
        if isClosing { try store.close() } else { try store.suspend() }
      }
      #expect(failed == .io)
      #expect(session.failureCount == 1)
      #expect(session.openDescriptors.isEmpty)
    }

    @Test("On a full disk what makes room goes on, and more when there is room again")
    func drain() throws {
      let (session, store, _) = try full()
      var growing = Batch()
      growing.delete(rows, [1])
      growing.put(rows, [3], Bytes(repeating: 3, count: 9000))
      #expect(code { () throws(StoreError) in _ = try store.apply(growing, .process) } == .full)
      for key in 0..<50 {
        var batch = Batch()
        batch.delete(rows, [1])
        batch.put(rows, [UInt8(100 + key)], [1])
        batch.frees = true
        _ = try store.apply(batch, key % 9 == 0 ? .power : .process)
      }
      let refused = code { () throws(StoreError) in try store.put(rows, [2], [2], .process) }
      #expect(refused == .full)
      session.setFull(false)
      try store.put(rows, [2], [2], .power)
      #expect(Scratch.names(scratch.store).contains(Reserve.name))
      try store.close()
      let again = try RocksDBStore(at: scratch.store)
      #expect(try contents(again.view(), rows).count == 51)
      try again.close()
    }

    @Test("After a flush in the background failed nothing more is committed, and nothing is lost")
    func flush() throws {
      var options = RocksDBOptions()
      options.memtable = 64 << 10
      let session = try IOSession.fail(
        scratch.path, at: nil, with: .error(EIO), counting: .syncs)
      let store = try RocksDBStore(at: scratch.store, options)
      session.fail(at: session.operationCount + 1, with: .error(EIO))
      var taken = 0
      func put() -> StoreError.Code? {
        code { () throws(StoreError) in
          try store.put(blobs, TestSupport.key(taken), Bytes(repeating: 1, count: 4000), .process)
          taken += 1
        }
      }
      while try !store.engine().hasBackgroundFailure, taken < 500, put() == nil { usleep(1000) }
      #expect(taken < 500 && session.failureCount == 1)
      #expect(put() == .poisoned)
      #expect(try contents(store.view(), blobs).count == taken)
      #expect(code { () throws(StoreError) in try store.close() } == .poisoned)
      session.stopFailing()
      let again = try RocksDBStore(at: scratch.store, options)
      #expect(try contents(again.view(), blobs).count == taken)
      try again.close()
    }
  }
#endif
