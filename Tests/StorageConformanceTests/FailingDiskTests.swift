#if os(Linux)
  import ConiferKeyValue
  import ConiferLMDB
  import ConiferLog
  import ConiferSQLite
  import Testing

  @testable import StorageConformance

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// What the checks on failing disks found, each in the fewest steps.
  @Suite("What failing disks showed", .enabled(if: IOSession.isAvailable))
  struct FailingDiskTests {
    private let rows = Space(id: 1, shape: .rows)
    private let blobs = Space(id: 2, shape: .blobs)

    private func batch(_ space: Space, _ count: Int) -> Batch {
      var batch = Batch()
      batch.put(space, [1], Bytes(repeating: 7, count: count))
      return batch
    }

    private func code(_ body: () throws -> Void) -> StoreError.Code? {
      do {
        try body()
        return nil
      } catch { return (error as? StoreError)?.code }
    }

    private func inDirectory(_ body: (String) throws -> Void) throws {
      let directory = try System.makeTemporaryDirectory()
      defer { System.removeTree(directory) }
      try body(directory)
    }

    @Test("LMDB can be read after a meta page could not be written, and a second time")
    func lmdbReads() throws {
      try inDirectory { directory in
        let session = try IOSession.fail(directory, at: nil, with: .error(EIO), counting: .syncs)
        let store = try LMDBStore(at: directory)
        _ = try store.apply(batch(rows, 10), .power)
        // The first sync is that of the data, the second one the durable write of the meta page.
        session.fail(at: session.operationCount + 1, with: .error(EIO))
        #expect(code { _ = try store.apply(batch(rows, 20), .power) } == .io)
        #expect(session.failure == "writing data.mdb")
        for _ in 0..<2 {
          let view = try store.view()
          #expect([10, 20].contains(try view.value(rows, [1])?.count))
          view.close()
        }
        #expect(code { _ = try store.apply(batch(rows, 30), .process) } == .poisoned)
        #expect(code { try store.close() } == .poisoned)
        #expect(session.openDescriptors.isEmpty)
      }
    }

    @Test("A sync that a full disk refuses is a failed sync", arguments: [true, false])
    func fullSync(isLMDB: Bool) throws {
      try inDirectory { directory in
        let session = try IOSession.fail(
          directory, at: nil, with: .error(ENOSPC), counting: .syncs)
        let store: any OrderedStore =
          isLMDB ? try LMDBStore(at: directory) : try SQLiteStore(at: directory)
        let id = try store.apply(batch(rows, 10), .process)
        session.fail(at: session.operationCount, with: .error(ENOSPC))
        #expect(code { try store.harden(id) } == .io)
        #expect(code { _ = try store.apply(batch(rows, 20), .process) } == .poisoned)
        #expect(code { try store.close() } == .poisoned)
      }
    }

    @Test("A read that the system refuses is not taken for damage", arguments: [true, false])
    func reads(isLMDB: Bool) throws {
      try inDirectory { directory in
        func open() throws -> any OrderedStore {
          isLMDB ? try LMDBStore(at: directory) : try SQLiteStore(at: directory)
        }
        let first = try open()
        _ = try first.apply(batch(blobs, 50_000), .power)
        try first.close()
        let session = try IOSession.fail(
          directory, at: nil, with: .error(EIO), counting: .changesAndReads)
        var number = 0
        while true {
          let (began, failed) = (session.operationCount, session.failureCount)
          session.fail(at: began + number, with: .error(EIO))
          let found = code {
            let store = try open()
            defer { try? store.close() }
            let view = try store.view()
            defer { view.close() }
            _ = try view.value(blobs, [1])
          }
          #expect(found == nil || found == .io, "operation \(number), \(session.failure ?? "")")
          session.stopFailing()
          if session.failureCount == failed { break }
          number += 1
        }
        #expect(number > 3)
      }
    }

    @Test("SQLite notices that the name of its log could not be made to last")
    func logName() throws {
      try inDirectory { directory in
        try SQLiteStore(at: directory).close()
        let session = try IOSession.fail(directory, at: 0, with: .error(EIO), counting: .syncs)
        #expect(code { _ = try SQLiteStore(at: directory) } == .io)
        #expect(session.failure == "syncing the directory")
      }
    }

    @Test("A closed log holds no file open")
    func handles() throws {
      try inDirectory { directory in
        let store = try LogStore(at: directory)
        _ = try store.apply(batch(blobs, 5000), .power)
        try store.close()
        let again = try LogStore(at: directory)
        let view = try again.view()
        #expect(try view.value(blobs, [1])?.count == 5000)
        view.close()
        try again.close()
        #expect(System.openFiles(under: directory).isEmpty)
      }
    }
  }
#endif
