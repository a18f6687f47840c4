import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferStorage
import ConiferTree
import Synchronization
import Testing

@testable import StorageConformance

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A store that is damaged beyond its records is set aside whole when it is opened, and its queue goes on
/// in a new one; whatever moment the process dies at, the next opening goes on.
@Suite struct SalvageOpeningTests {
  static let kinds = ["lmdb", "sqlite", "log"]

  /// Segments so small that the data has some of its own.
  private static var small: LogOptions {
    var options = LogOptions()
    options.segment = 64 << 10
    return options
  }

  static func configuration(
    _ kind: String, _ directory: String, role: StoreRole = .cache
  ) -> StorageConfiguration {
    let (path, options) = (directory + "/store", StorageOptions(role: role))
    switch kind {
    case "lmdb": return .lmdb(at: path, options: options)
    case "sqlite": return .sqlite(at: path, options: options)
    default: return .log(at: path, options: options, log: small)
    }
  }

  /// A store with queue, pins and data, damaged so that it cannot be opened.
  static func damaged(_ kind: String, _ directory: String) async throws {
    let backend = try configuration(kind, directory).open()
    let tree = try await backend.tree(named: "main")
    let lane = Lane(tree: tree, identity: "ann")
    let room = Node(
      children: (0..<(kind == "log" ? 9000 : 800)).map { number in
        // Digits that compress badly.
        let text = (0..<6).map { part in
          String(
            UInt64(number * 6 + part) &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(number) << 31, radix: 36)
        }
        return (Key("m\(number)"), Node(.string(text.joined())))
      })
    try await backend.commit([
      .overwrite(tree, "room", room),
      .saveQuery(TrackedQuery(tree: tree, path: "room", isComplete: true)),
    ])
    for number in 0..<20 {
      try await backend.commit([.enqueue(lane, .set(Path("room/m\(number)"), "write"))])
    }
    try await backend.commit([
      .pin(Pin(tree: tree, path: "room/m1")),
      .setState(lane, WriteID(rawValue: 2), .rejected(reason: "no")),
      .finish(lane, WriteID(rawValue: 1), .acknowledged),
    ])
    try await backend.close()
    try harm(kind, directory + "/store")
  }

  /// Damage that opening refuses, in a place from which the rows do not hang.
  private static func harm(_ kind: String, _ store: String) throws {
    switch kind {
    // One page too few for the newest commit.
    case "lmdb":
      let path = store + "/data.mdb"
      var info = stat()
      try #require(stat(path, &info) == 0)
      try #require(truncate(path, info.st_size - 4096) == 0)
    // The checksum of the format record, which stands behind its key.
    case "sqlite":
      let path = store + "/conifer.sqlite"
      let key: [UInt8] = [1, 0, 0, 0, 0, UInt8(ascii: "f")]
      let bytes = try #require(ConiferStorage.Platform.read(path, limit: 1 << 27))
      let places = (0..<(bytes.count - 16)).filter {
        bytes[$0] == 1 && bytes[$0 + 5] == key[5] && bytes[$0..<($0 + 6)].elementsEqual(key)
      }
      try #require(!places.isEmpty)
      let file = open(path, O_RDWR)
      defer { close(file) }
      for at in places {
        try #require(pwrite(file, [~bytes[at + 8]], 1, off_t(at + 8)) == 1)
      }
    // The oldest segment, in which the data begins.
    default:
      let segments = try Directory.names(in: store).filter { $0.hasSuffix(".segment") }
      try #require(segments.count > 1, "\(segments)")
      try #require(unlink(store + "/" + segments[0]) == 0)
    }
  }

  /// The bytes of the files of a directory, but for those that only say who has it open.
  static func files(_ directory: String) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try Directory.names(in: directory) where name != "owner" && name != "lock.mdb" {
      files[name] = ConiferStorage.Platform.read("\(directory)/\(name)", limit: 1 << 27)
    }
    return files
  }

  static func writes(_ backend: any StorageBackend) throws -> [UInt64] {
    try backend.read { (view) throws(StoreError) in
      guard let tree = try view.trees().first?.id else { return [] }
      let lane = Lane(tree: tree, identity: "ann")
      let all =
        try view.writes(lane, after: nil, limit: 100)
        + view.rejectedWrites(lane, after: nil, limit: 100)
      return all.map(\.id.rawValue).sorted()
    }
  }

  @Test(
    "Queue and pins go on, the old files lie beside, and a report says what became of it",
    arguments: kinds)
  func opening(kind: String) async throws {
    let directory = try System.makeTemporaryDirectory()
    defer { System.removeTree(directory) }
    try await Self.damaged(kind, directory)
    let before = try Self.files(directory + "/store")
    let configuration = Self.configuration(kind, directory)
    let error = #expect(throws: StoreError.self) { try configuration.open() }
    #expect(error?.code == .damaged, "\(String(describing: error))")
    // An authority's only copy is never given up.
    let authority = Self.configuration(kind, directory, role: .authority)
    await #expect(throws: StoreError.self) { try await authority.openOrSalvage() }
    #expect(try Self.files(directory + "/store") == before)
    let (backend, found) = try await configuration.openOrSalvage()
    let report = try #require(found)
    let aside = try #require(report.aside)
    #expect(aside.hasSuffix("/store.damaged"))
    #expect(try Self.files(aside) == before)
    #expect(try Directory.names(in: directory) == ["store", "store.damaged"])
    let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
    #expect(incidents.contains { $0.place.contains(aside) }, "\(incidents)")
    #expect(!report.isWhole)
    #expect(try Self.writes(backend) == Array(2...20), "\(report.lost)")
    #expect(report.trees.map(\.pins) == [1], "\(report)")
    #expect(report.trees.first?.queues.map(\.waiting) == [18])
    #expect(try backend.verifying().verify { _ in }.isSound)
    try await backend.close()
    let (again, none) = try await configuration.openOrSalvage()
    #expect(none == nil)
    try await again.close()
    // A second one does not take the first one's place; the new stores of the others are too small to
    // be harmed in the same way.
    guard kind == "sqlite" else { return }
    try Self.harm(kind, directory + "/store")
    let (third, second) = try await configuration.openOrSalvage()
    #expect(second?.aside?.hasSuffix("/store.damaged-2") == true)
    try await third.close()
    #expect(try Self.files(aside) == before)
  }

  @Test(
    "A store without its main file is refused; salvaging tells that all is lost, and goes on anew",
    arguments: kinds, [false, true])
  func mainFileGone(kind: String, isBare: Bool) async throws {
    let directory = try System.makeTemporaryDirectory()
    defer { System.removeTree(directory) }
    let configuration = Self.configuration(kind, directory)
    let old = try configuration.open()
    #expect(try await Self.enqueue(old, by: "ann") == 1)
    try await old.close()
    let store = directory + "/store"
    let main = ["lmdb": "data.mdb", "sqlite": "conifer.sqlite"][kind] ?? "manifest"
    // Only the owner's file tells then.
    for name in try Directory.names(in: store) where name == main || isBare && name != "owner" {
      Directory.remove("\(store)/\(name)")
    }
    let before = try Self.files(store)
    for role in [StoreRole.cache, .authority] {
      let configuration = Self.configuration(kind, directory, role: role)
      let error = #expect(throws: StoreError.self) { try configuration.open() }
      #expect(
        error?.code == .damaged && error?.message.contains(main) == true,
        "\(String(describing: error))")
    }
    #expect(try Self.files(store) == before)
    let (backend, found) = try await configuration.openOrSalvage()
    let report = try #require(found)
    #expect(!report.isWhole && report.trees.isEmpty)
    let aside = try #require(report.aside)
    #expect(try Self.files(aside) == before)
    let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
    #expect(incidents.contains { $0.place.contains(aside) }, "\(incidents)")
    #expect(incidents.contains { $0.place.contains("missing") }, "\(incidents)")
    #expect(try await Self.enqueue(backend, by: "ann") > 1 << 40)
    try await backend.close()
    let (again, none) = try await configuration.openOrSalvage()
    #expect(none == nil)
    try await again.close()
  }

  private static func enqueue(
    _ backend: any StorageBackend, by identity: String
  ) async throws -> UInt64 {
    let tree = try await backend.tree(named: "main")
    let receipt = try await backend.commit([
      .enqueue(Lane(tree: tree, identity: identity), .set("room/m1", "later"))
    ])
    return try #require(receipt.writes.first?.rawValue)
  }

  @Test("No number of a write that was lost is given again", arguments: kinds + ["nothing left"])
  func numbers(kind: String) async throws {
    let directory = try System.makeTemporaryDirectory()
    defer { System.removeTree(directory) }
    let isLost = kind == "nothing left"
    let kind = isLost ? "lmdb" : kind
    try await Self.damaged(kind, directory)
    if isLost {
      // Neither meta page can be read.
      let file = open(directory + "/store/data.mdb", O_RDWR)
      defer { close(file) }
      try #require(pwrite(file, [UInt8](repeating: 0, count: 20), 20, 0) == 20)
      try #require(pwrite(file, [0, 0], 2, 4096 + 10) == 2)
    }
    let (backend, report) = try await Self.configuration(kind, directory).openOrSalvage()
    #expect(report?.trees.isEmpty == isLost)
    let first = try await Self.enqueue(backend, by: "who is not known")
    #expect(first > 1 << 40)
    try await backend.close()
    guard isLost else { return }
    // Nor by one that follows.
    let file = open(directory + "/store/data.mdb", O_RDWR)
    defer { close(file) }
    try #require(pwrite(file, [UInt8](repeating: 0, count: 20), 20, 0) == 20)
    try #require(pwrite(file, [0, 0], 2, 4096 + 10) == 2)
    let (again, _) = try await Self.configuration(kind, directory).openOrSalvage()
    #expect(try await Self.enqueue(again, by: "who is not known") > first + 1 << 39)
    try await again.close()
  }

  @Test(
    "A file operation that fails ends in that error, and nothing counts as lost for it",
    .enabled(if: IOSession.isAvailable), arguments: kinds)
  func refused(kind: String) async throws {
    let master = try System.makeTemporaryDirectory()
    defer { System.removeTree(master) }
    try await Self.damaged(kind, master)
    let files = try Self.files(master + "/store")
    func attempt(
      _ at: Int?
    ) async throws -> (count: Int, directory: String, found: Result<[String], any Error>) {
      let directory = try System.makeTemporaryDirectory()
      try Directory.copyFiles(master + "/store", to: directory + "/store", leaving: ["owner"])
      let session = try IOSession.fail(
        directory, at: at, with: .error(EIO), counting: .changesAndReads)
      defer { session.end() }
      do {
        let (backend, report) = try await Self.configuration(kind, directory).openOrSalvage()
        let count = session.operationCount
        session.stopFailing()
        #expect(try Self.writes(backend) == Array(2...20), "\(kind), operation \(at ?? -1)")
        try await backend.close()
        return (count, directory, .success(report?.lost.map(\.words) ?? []))
      } catch { return (session.operationCount, directory, .failure(error)) }
    }
    let (operations, first, whole) = try await attempt(nil)
    System.removeTree(first)
    let lost = try whole.get()
    let places = Array(stride(from: 0, to: operations, by: max(1, operations / 40)))
    var refused = 0
    for at in places {
      let words = "\(kind), operation \(at) of \(operations)"
      let (_, directory, found) = try await attempt(at)
      defer { System.removeTree(directory) }
      switch found {
      case .success(let words): #expect(words == lost, "\(kind), operation \(at)")
      case .failure(let error as StoreError):
        refused += 1
        #expect([.io, .poisoned].contains(error.code), "\(words): \(error)")
      case .failure(let error): Issue.record(error, "\(words)")
      }
      let (backend, _) = try await Self.configuration(kind, directory).openOrSalvage()
      #expect(try Self.writes(backend) == Array(2...20), "\(words)")
      try backend.requireSound()
      try await backend.close()
      #expect(try Self.files(directory + "/store.damaged") == files, "\(words)")
    }
    print("\(kind): \(places.count) failures in \(operations) operations, \(refused) refused")
    #expect(refused > 0)
  }

  @Test(
    "An exchange that is gone on with never runs backwards, whatever fails",
    .enabled(if: IOSession.isAvailable))
  func forwards() async throws {
    let directory = try System.makeTemporaryDirectory()
    defer { System.removeTree(directory) }
    try await Self.damaged("sqlite", directory)
    let files = try Self.files(directory + "/store")
    let configuration = Self.configuration("sqlite", directory)
    try await configuration.openOrSalvage().backend.close()
    for at in 0..<24 {
      // As a process leaves it that is killed before it takes the mark away.
      try UnfinishedStore.mark(directory + "/store", ["wait", "place", "store.damaged"])
      let session = try IOSession.fail(
        directory, at: at, with: .error(EMFILE), counting: .changesAndReads)
      do {
        let (backend, report) = try await configuration.openOrSalvage()
        session.stopFailing()
        #expect(report?.aside == directory + "/store.damaged", "operation \(at)")
        try await backend.close()
      } catch {
        #expect(error.code == .io || error.code == .poisoned, "operation \(at): \(error)")
      }
      session.end()
      #expect(try Self.files(directory + "/store.damaged") == files, "operation \(at)")
    }
    let (backend, _) = try await configuration.openOrSalvage()
    #expect(try Self.writes(backend) == Array(2...20))
    try await backend.close()
    #expect(try Directory.names(in: directory) == ["store", "store.damaged"])
  }

  @Test("A store that another process has just replaced is not replaced again")
  func meanwhile() async throws {
    let directory = try System.makeTemporaryDirectory()
    defer { System.removeTree(directory) }
    let base = Self.configuration("sqlite", directory)
    try await base.open().close()
    let method = SalvageMethod(
      read: { (_, _, _, _) throws(StoreError) in throw StoreError(.damaged, "Nothing is left.") },
      rows: { (_) throws(StoreError) in throw StoreError(.damaged, "Nothing is left.") },
      elsewhere: { _, _ in base })
    let calls = Mutex(0)
    let late = StorageConfiguration(
      name: "late", location: directory + "/store", options: StorageOptions(), salvage: method
    ) { (_) throws(StoreError) in
      let call = calls.withLock { calls in
        calls += 1
        return calls
      }
      guard call == 1 else { return try base.open() }
      // What the other process leaves.
      try ConiferStorage.Platform.makeDirectory(directory + "/store.damaged")
      throw StoreError(.damaged, "It was damaged then.")
    }
    let (backend, report) = try await late.openOrSalvage()
    #expect(report == nil)
    try await backend.close()
    #expect(try Directory.names(in: directory) == ["store", "store.damaged"])
  }

  @Test(
    "A process that is killed at any file operation of it loses nothing",
    .enabled(if: IOSession.isAvailable), arguments: kinds)
  func killed(kind: String) async throws {
    let master = try System.makeTemporaryDirectory()
    defer { System.removeTree(master) }
    try await Self.damaged(kind, master)
    let files = try Self.files(master + "/store")
    let operations = try await Self.operations(kind, master)
    let kills = Array(stride(from: 0, to: operations, by: max(1, operations / 24)))
    print("\(kind): \(kills.count) kills in \(operations) operations")
    for at in kills {
      let directory = try System.makeTemporaryDirectory()
      defer { System.removeTree(directory) }
      try Directory.copyFiles(master + "/store", to: directory + "/store", leaving: ["owner"])
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [kind = kind as String, directory = directory as String, at = at as Int] in
        let session = try IOSession.fail(directory, at: at, with: .kill)
        let (backend, _) = try await SalvageOpeningTests.configuration(kind, directory)
          .openOrSalvage()
        try await backend.close()
        session.end()
        // What is mended beside the opening may take fewer operations than when they were counted.
        kill(getpid(), SIGKILL)
      }
      let words = "\(kind), killed at operation \(at) of \(operations)"
      let (backend, _) = try await Self.configuration(kind, directory).openOrSalvage()
      #expect(try Self.writes(backend) == Array(2...20), "\(words)")
      let pins = try backend.read { (view) throws(StoreError) in
        try view.pins(TreeID(rawValue: 1)).count
      }
      #expect(pins == 1, "\(words)")
      try backend.requireSound()
      try await backend.close()
      #expect(try Self.files(directory + "/store.damaged") == files, "\(words)")
      #expect(Directory.isMissing(directory + "/store/unfinished"), "\(words)")
    }
  }

  /// How many operations a whole run takes.
  private static func operations(_ kind: String, _ master: String) async throws -> Int {
    let directory = try System.makeTemporaryDirectory()
    defer { System.removeTree(directory) }
    try Directory.copyFiles(master + "/store", to: directory + "/store", leaving: ["owner"])
    let session = try IOSession.fail(directory, at: nil, with: .kill)
    defer { session.end() }
    let (backend, _) = try await configuration(kind, directory).openOrSalvage()
    try await backend.close()
    return session.operationCount
  }
}
