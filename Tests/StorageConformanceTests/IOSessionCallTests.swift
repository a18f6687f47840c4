#if os(Linux)
  import ConiferKeyValue
  import Testing

  @testable import StorageConformance

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  @Suite(
    "Maps, copies of descriptors and syncs of all are followed", .enabled(if: IOSession.isAvailable)
  )
  struct IOSessionCallTests {
    /// A directory of its own, removed at the end.
    private static func inDirectory(_ body: (String) throws -> Void) throws {
      let directory = try System.makeTemporaryDirectory()
      defer { System.removeTree(directory) }
      try body(directory)
    }

    private func map(_ file: Int32, _ length: Int) throws -> UnsafeMutableRawPointer {
      let address = mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
      return try #require(address == MAP_FAILED ? nil : address)
    }

    /// The bytes of the writes since some entry, with their places.
    private func writes(_ session: IOSession, from first: Int = 0) -> [String] {
      session.entries().dropFirst(first).compactMap { entry in
        guard case .write(_, let offset, let bytes, _) = entry else { return nil }
        return "\(bytes.count) at \(offset): \(Set(bytes).sorted())"
      }
    }

    @Test("A map gives the bytes up to the file's present end, whatever its size was")
    func resizedMaps() throws {
      try Self.inDirectory { directory in
        let session = try IOSession.record(directory)
        let file = open(directory + "/a", O_RDWR | O_CREAT, 0o600)
        defer { close(file) }
        #expect(ftruncate(file, 4096) == 0)
        let bytes = try map(file, 16384)
        defer { munmap(bytes, 16384) }
        memset(bytes, 1, 4096)
        #expect(msync(bytes, 16384, MS_SYNC) == 0)
        #expect(writes(session) == ["4096 at 0: [1]"])
        // What was mapped behind the end is there once the file is longer.
        #expect(ftruncate(file, 12288) == 0)
        memset(bytes, 2, 12288)
        var before = session.entries().count
        #expect(fsync(file) == 0)
        #expect(writes(session, from: before) == ["12288 at 0: [2]"])
        // Reading behind the end of a shorter file would end the process.
        #expect(ftruncate(file, 100) == 0)
        before = session.entries().count
        #expect(fsync(file) == 0)
        #expect(writes(session, from: before) == ["100 at 0: [2]"])
        #expect(ftruncate(file, 0) == 0)
        #expect(fsync(file) == 0)
        session.end()
      }
    }

    @Test("A map that grew, moved or was cut is followed")
    func movedMaps() throws {
      try Self.inDirectory { directory in
        typealias Remap =
          @convention(c) (UnsafeMutableRawPointer?, Int, Int, Int32) -> UnsafeMutableRawPointer?
        let mremap = unsafeBitCast(try #require(dlsym(nil, "mremap")), to: Remap.self)
        let session = try IOSession.record(directory)
        let file = open(directory + "/a", O_RDWR | O_CREAT, 0o600)
        defer { close(file) }
        #expect(ftruncate(file, 1 << 20) == 0)
        let small = try map(file, 4096)
        let mayMove: Int32 = 1
        let large = try #require(mremap(small, 4096, 1 << 20, mayMove))
        memset(large, 3, 1 << 20)
        #expect(msync(large + 8192, 4096, MS_SYNC) == 0)
        // A sync of everything by a test beside this one records the map once more.
        #expect(Set(writes(session)) == ["1048576 at 0: [3]"])
        // A hole in the middle: both sides are still there.
        #expect(munmap(large + 4096, 4096) == 0)
        memset(large, 4, 4096)
        memset(large + 8192, 5, 4096)
        let before = session.entries().count
        #expect(fsync(file) == 0)
        #expect(
          Set(writes(session, from: before)) == ["4096 at 0: [4]", "1040384 at 8192: [3, 5]"])
        munmap(large, 4096)
        munmap(large + 8192, (1 << 20) - 8192)
        #expect(fsync(file) == 0)
        #expect(session.entries().last?.description == "sync file 0")
        session.end()
      }
    }

    @Test("A copy of a descriptor that fcntl made is watched like the first")
    func copies() throws {
      try Self.inDirectory { directory in
        let session = try IOSession.record(directory)
        let file = open(directory + "/a", O_RDWR | O_CREAT, 0o600)
        for command in [F_DUPFD, F_DUPFD_CLOEXEC] {
          let copy = fcntl(file, command, 100)
          #expect(copy >= 100)
          #expect(pwrite(copy, [1] as Bytes, 1, 0) == 1)
          close(copy)
        }
        #expect(fcntl(file, F_SETFL, O_APPEND) == 0)
        #expect(write(file, [1, 2] as Bytes, 2) == 2)
        #expect(fcntl(file, F_SETFL, 0) == 0)
        #expect(lseek(file, 0, SEEK_SET) == 0)
        #expect(write(file, [1, 2] as Bytes, 2) == 2)
        close(file)
        #expect(
          session.entries().map(\.description) == [
            "create file 0, a", "write 1 bytes at 0 of file 0", "write 1 bytes at 0 of file 0",
            "write 2 bytes at 1 of file 0", "write 2 bytes at 0 of file 0",
          ])
        session.end()
      }
    }

    @Test("A sync of the whole file system makes bytes and names durable, and can fail")
    func fileSystems() async {
      // In a process of its own: it would sync what other tests follow, or take an error meant for them.
      await #expect(processExitsWith: .success) {
        try IOSessionCallTests.inDirectory { directory in
          // Swift's overlay does not show it.
          typealias Sync = @convention(c) (Int32) -> Int32
          let syncfs = unsafeBitCast(try #require(dlsym(nil, "syncfs")), to: Sync.self)
          let session = try IOSession.record(directory)
          #expect(mkdir(directory + "/d", 0o700) == 0)
          let file = open(directory + "/d/a", O_RDWR | O_CREAT, 0o600)
          #expect(pwrite(file, [1, 2] as Bytes, 2, 0) == 2)
          #expect(syncfs(file) == 0)
          var disk = SimulatedDisk()
          for entry in session.entries() { _ = disk.play(entry) }
          #expect(disk.isAllDurable)
          #expect(disk.names.reachable.map(\.path) == ["d", "d/a"])
          session.end()
          let failing = try IOSession.fail(directory, at: 0, with: .error(EIO), counting: .syncs)
          #expect(syncfs(file) == -1)
          #expect(errno == EIO)
          #expect(syncfs(file) == 0)
          failing.end()
          close(file)
        }
      }
    }

    @Test("A sync of a directory fails only where a name in it changed")
    func directories() throws {
      try Self.inDirectory { directory in
        for name in ["one", "two"] { #expect(mkdir(directory + "/" + name, 0o700) == 0) }
        let session = try IOSession.fail(directory, at: 0, with: .errors(EIO), counting: .syncs)
        func sync(_ name: String) -> Int32 {
          let folder = open(directory + "/" + name, O_RDONLY | O_DIRECTORY)
          defer { close(folder) }
          return fsync(folder)
        }
        try System.write([1], to: directory + "/one/a")
        try System.write([1], to: directory + "/one/b")
        #expect(sync("two") == 0)
        #expect(sync("one") == -1)
        // A sync of one directory settles nothing of another.
        session.stopFailing()
        #expect(rename(directory + "/one/a", directory + "/two/a") == 0)
        #expect(sync("two") == 0)
        session.fail(at: session.operationCount, with: .errors(EIO))
        #expect(sync("two") == 0)
        #expect(sync("one") == -1)
        #expect(session.failure == "syncing one")
        session.end()
      }
    }
  }
#endif
