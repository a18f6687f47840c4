#if Encryption
  import ConiferEncryption
  import ConiferKeyValue
  import ConiferLMDB
  import ConiferStorage
  import ConiferTree
  import TestSupport
  import Testing

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  @Suite("A damaged store with keys that are not given")
  struct SalvageOpeningTests {
    private static let own = Bytes(repeating: 9, count: 32)

    private static func configuration(_ path: String, gives: Bool) -> StorageConfiguration {
      .lmdb(
        at: path,
        options: StorageOptions(
          encryption: StoreEncryption(key: keyA) { scope in
            let lane = StoreScope.lane(Lane(tree: TreeID(rawValue: 1), identity: "ann"))
            return gives && scope == lane ? own : nil
          }))
    }

    @Test("A queue whose key is not given is not left behind: the store stays as it is")
    func notGiven() async throws {
      let scratch = try Scratch()
      let path = scratch.store
      let backend = try Self.configuration(path, gives: true).open()
      let tree = try await backend.tree(named: "main")
      let lanes = ["ann", "bob"].map { Lane(tree: tree, identity: $0) }
      for number in 0..<400 {
        _ = try await backend.commit(
          lanes.map { .enqueue($0, .set(Path("room/m\(number)"), "write")) }, .process)
      }
      try await backend.close()
      let file = path + "/data.mdb"
      // One of its two meta pages.
      let descriptor = open(file, O_RDWR)
      try #require(pwrite(descriptor, Bytes(repeating: 0, count: 20), 20, 0) == 20)
      close(descriptor)
      let bytes = Scratch.read(file)
      for _ in 0..<2 {
        let error = await #expect(throws: StoreError.self) {
          try await Self.configuration(path, gives: false).openOrSalvage()
        }
        #expect(error?.code == .wrongKey && error?.message.contains("ann") == true)
      }
      #expect(Scratch.read(file) == bytes)
      for name in [".damaged", ".salvage", "/unfinished"] {
        #expect(access(path + name, F_OK) != 0)
      }
      let (again, report) = try await Self.configuration(path, gives: true).openOrSalvage()
      #expect(report?.aside == path + ".damaged")
      for lane in lanes {
        let waiting = try again.read { (view) throws(StoreError) in try view.totals(lane).pending }
        #expect(waiting > 350, "\(lane.identity): \(waiting)")
      }
      try await again.close()
    }
  }
#endif
