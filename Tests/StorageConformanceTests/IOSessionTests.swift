#if os(Linux)
  import ConiferKeyValue
  import ConiferStorage
  import ConiferTree
  import Testing

  @testable import StorageConformance

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  @Suite(
    "File calls below a directory are recorded and failed", .enabled(if: IOSession.isAvailable))
  struct IOSessionTests {
    /// A directory of its own, removed at the end.
    private func inDirectory(_ body: (String) async throws -> Void) async throws {
      let directory = try System.makeTemporaryDirectory()
      defer { System.removeTree(directory) }
      try await body(directory)
    }

    @Test("Every kind of call is recorded, in order, with its bytes and relative paths")
    func records() async throws {
      try await inDirectory { directory in
        try System.write([9], to: directory + "/old")
        let session = try IOSession.record(directory)
        let file = open(directory + "/./a", O_RDWR | O_CREAT, 0o600)
        #expect(write(file, [1, 2, 3] as Bytes, 3) == 3)
        #expect(pwrite(file, [4] as Bytes, 1, 10) == 1)
        #expect(write(file, [5] as Bytes, 1) == 1)
        session.mark(7)
        #expect(fdatasync(file) == 0)
        #expect(ftruncate(file, 2) == 0)
        #expect(posix_fallocate(file, 0, 64) == 0)
        #expect(lseek(file, 0, SEEK_END) == 64)
        close(file)
        let durable = open(directory + "/old", O_WRONLY | O_APPEND | O_DSYNC)
        #expect(write(durable, [6, 7] as Bytes, 2) == 2)
        close(durable)
        #expect(rename(directory + "/a", directory + "/b") == 0)
        #expect(link(directory + "/b", directory + "/c") == 0)
        #expect(unlink(directory + "/b") == 0)
        #expect(mkdir(directory + "/d", 0o700) == 0)
        #expect(rmdir(directory + "/d") == 0)
        let folder = open(directory, O_RDONLY | O_DIRECTORY)
        #expect(fsync(folder) == 0)
        close(folder)
        #expect(
          session.entries().map(\.description) == [
            "create file 0, a", "write 3 bytes at 0 of file 0", "write 1 bytes at 10 of file 0",
            "write 1 bytes at 3 of file 0", "mark 7", "sync file 0",
            "set the length of file 0 to 2", "set the length of file 0 to 64",
            "open file 1, old", "write 2 bytes at 1 of file 1, durably", "rename a to b",
            "link b as c", "unlink b", "make directory d", "remove directory d",
            "open file 2, ", "sync directory .",
          ])
        #expect(session.operationCount == 14)
        guard case .write(_, _, let bytes, _) = session.entries()[1] else {
          Issue.record("no write")
          return
        }
        #expect(bytes == [1, 2, 3])
        session.end()
      }
    }

    @Test("Nothing outside the directory is seen, and nothing after the end")
    func bounds() async throws {
      try await inDirectory { directory in
        try await inDirectory { beside in
          let session = try IOSession.record(directory)
          try System.write([1], to: beside + "/a")
          try System.write([1], to: directory + "/a")
          #expect(session.entries().count == 2)
          let file = open(directory + "/a", O_RDWR)
          session.end()
          #expect(pwrite(file, [2] as Bytes, 1, 0) == 1)
          #expect(session.entries().isEmpty)
          close(file)
        }
      }
    }

    @Test("The operation with a number fails, once or from then on")
    func faults() async throws {
      try await inDirectory { directory in
        let session = try IOSession.fail(directory, at: 2, with: .error(EIO))
        let file = open(directory + "/a", O_RDWR | O_CREAT, 0o600)
        #expect(pwrite(file, [1] as Bytes, 1, 0) == 1)
        #expect(pwrite(file, [2] as Bytes, 1, 0) == -1)
        #expect(errno == EIO)
        #expect(pwrite(file, [3] as Bytes, 1, 0) == 1)
        session.fail(at: session.operationCount, with: .errors(EINTR))
        #expect(fsync(file) == -1)
        #expect(errno == EINTR)
        #expect(unlink(directory + "/a") == -1)
        session.stopFailing()
        #expect(fsync(file) == 0)
        #expect(session.failureCount == 3)
        #expect(session.failure == "removing a")
        session.fail(at: session.operationCount, with: .shortWrite)
        #expect(pwrite(file, [1, 2, 3, 4] as Bytes, 4, 0) == 2)
        #expect(pwrite(file, [1, 2, 3, 4] as Bytes, 4, 0) == 4)
        #expect(session.openDescriptors == [directory + "/a"])
        close(file)
        #expect(session.openDescriptors.isEmpty)
        session.end()
      }
    }

    @Test("Syncs are counted alone, and reads with the rest, when asked for")
    func counting() async throws {
      try await inDirectory { directory in
        try System.write([1], to: directory + "/a")
        let syncs = try IOSession.fail(directory, at: 1, with: .error(EIO), counting: .syncs)
        let file = open(directory + "/a", O_RDWR)
        #expect(pwrite(file, [1] as Bytes, 1, 0) == 1)
        #expect(fsync(file) == 0)
        #expect(pwrite(file, [1] as Bytes, 1, 0) == 1)
        #expect(fsync(file) == -1)
        #expect(syncs.failure == "syncing a")
        close(file)
        let durable = open(directory + "/a", O_WRONLY | O_DSYNC)
        syncs.fail(at: syncs.operationCount, with: .error(EIO))
        #expect(pwrite(durable, [1] as Bytes, 1, 0) == -1)
        close(durable)
        syncs.end()
        let reads = try IOSession.fail(
          directory, at: 1, with: .error(EIO), counting: .changesAndReads)
        let again = open(directory + "/a", O_RDONLY)
        var byte: UInt8 = 0
        #expect(pread(again, &byte, 1, 0) == -1)
        #expect(pread(again, &byte, 1, 0) == 1)
        close(again)
        reads.end()
      }
    }

    @Test("A full disk takes overwrites and refuses growth")
    func full() async throws {
      try await inDirectory { directory in
        try System.write([1, 2, 3, 4], to: directory + "/a")
        let session = try IOSession.fail(directory, at: nil, with: .error(EIO))
        let file = open(directory + "/a", O_RDWR)
        session.setFull(true)
        #expect(pwrite(file, [9, 9] as Bytes, 2, 2) == 2)
        #expect(pwrite(file, [9, 9] as Bytes, 2, 3) == 1)
        #expect(pwrite(file, [9] as Bytes, 1, 4) == -1)
        #expect(errno == ENOSPC)
        #expect(posix_fallocate(file, 0, 8) == ENOSPC)
        #expect(ftruncate(file, 8) == -1)
        #expect(ftruncate(file, 2) == 0)
        #expect(open(directory + "/b", O_RDWR | O_CREAT, 0o600) == -1)
        #expect(errno == ENOSPC)
        #expect(rename(directory + "/a", directory + "/c") == 0)
        // What was removed since may be taken again.
        #expect(ftruncate(file, 4) == 0)
        #expect(pwrite(file, [9] as Bytes, 1, 4) == -1)
        session.setFull(false)
        #expect(pwrite(file, [9] as Bytes, 1, 100) == 1)
        #expect(ftruncate(file, 8192) == 0)
        try System.write([1], to: directory + "/e")
        session.setFull(true)
        #expect(unlink(directory + "/e") == 0)
        #expect(mkdir(directory + "/d", 0o700) == -1)
        #expect(ftruncate(file, 0) == 0)
        #expect(mkdir(directory + "/d", 0o700) == 0)
        #expect(pwrite(file, Bytes(repeating: 1, count: 10_000), 10_000, 0) == 8193)
        session.setFull(false)
        close(file)
        session.end()
      }
    }

    @Test(
      "The calls of every engine arrive",
      arguments: [Tested.lmdb(.none), Tested.sqlite(.none), Tested.log(.none)])
    func engines(_ factory: BackendFactory) async throws {
      try await inDirectory { directory in
        let session = try IOSession.record(directory)
        let backend = try factory.open(directory, factory.options)
        let tree = try await backend.tree(named: "t")
        session.mark(1)
        _ = try await backend.commit([.overwrite(tree, "a", 1)], .power)
        session.mark(2)
        try await backend.close()
        let entries = session.entries()
        session.end()
        let first = entries.firstIndex { if case .mark(1) = $0 { true } else { false } }
        let last = entries.firstIndex { if case .mark(2) = $0 { true } else { false } }
        let commit = try entries[#require(first)..<#require(last)]
        #expect(commit.contains { if case .write = $0 { true } else { false } })
        #expect(commit.contains { if case .sync = $0 { true } else { false } })
      }
    }
  }
#endif
