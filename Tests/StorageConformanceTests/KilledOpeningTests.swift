#if os(Linux)
  import ConiferKeyValue
  import ConiferLMDB
  import ConiferLog
  import ConiferSQLite
  import ConiferStorage
  import Testing

  @testable import StorageConformance

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// A process is killed while it makes a store: where the main file gets its name, and where the owner's
  /// file gets the kind.
  @Suite(.enabled(if: IOSession.isAvailable)) struct KilledOpeningTests {
    private static func open(_ kind: String, _ path: String) throws(StoreError)
      -> any StorageBackend
    {
      switch kind {
      case "lmdb": try StorageConfiguration.lmdb(at: path).open()
      case "sqlite": try StorageConfiguration.sqlite(at: path).open()
      default: try StorageConfiguration.log(at: path).open()
      }
    }

    /// The child's part: opens a store and is killed at an operation.
    private static func die(_ kind: String, _ path: String, at operation: Int) throws {
      let session = try IOSession.fail(path, at: operation, with: .kill)
      defer { session.end() }
      _ = try open(kind, path)
    }

    /// The numbers of the operations that name the main file and that write the kind, found by failing
    /// each.
    private static func operations(_ kind: String, _ main: String) async throws -> (
      main: Int, kind: Int
    ) {
      var named: Int?
      for operation in 0..<200 {
        let directory = try System.makeTemporaryDirectory()
        defer { System.removeTree(directory) }
        let session = try IOSession.fail(directory, at: operation, with: .error(EIO))
        defer { session.end() }
        try? await open(kind, directory).close()
        let failure = try #require(session.failure, "nothing wrote the kind of \(kind)")
        if named == nil, ["renaming to \(main)", "linking \(main)"].contains(failure) {
          named = operation
        }
        if let named, failure == "writing owner" { return (named, operation) }
      }
      throw ConformanceFailure("nothing wrote the kind of \(kind) in 200 operations")
    }

    @Test(
      "What is left is a store, or opens as a new one",
      arguments: [("lmdb", "data.mdb"), ("sqlite", "conifer.sqlite"), ("log", "manifest")])
    func killed(kind: String, main: String) async throws {
      let (named, recorded) = try await Self.operations(kind, main)
      #expect(named < recorded)
      for operation in [named, named + 1, recorded - 1, recorded, recorded + 1] {
        let directory = try System.makeTemporaryDirectory()
        defer { System.removeTree(directory) }
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [kind = kind as String, path = directory as String, operation = operation as Int] in
          try KilledOpeningTests.die(kind, path, at: operation)
        }
        let names = System.names(in: directory)
        #expect(names.contains("owner"))
        #expect(names.contains(main) == (operation > named))
        let text = try System.content(of: directory + "/owner")
        #expect(text.starts(with: Bytes("kind ".utf8)) == (operation > recorded), "\(operation)")
        for _ in 1...2 {
          let backend = try Self.open(kind, directory)
          let tree = try await backend.tree(named: "main")
          _ = try await backend.commit([.setMetadata(tree, "at", [UInt8(operation & 255)])], .power)
          try await backend.close()
        }
      }
    }
  }
#endif
