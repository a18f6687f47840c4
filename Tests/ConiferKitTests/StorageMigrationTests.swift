import ConiferKeyValue
import ConiferKit
import ConiferLMDB
import ConiferLog
import ConiferServer
import ConiferStorage
import ConiferTree
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A move of what an app keeps from one backend to another, as it does that before its database opens.
@Suite(.timeLimit(.minutes(10))) struct `The move of a storage` {
  private final class Places {
    let base = FileManager.default.temporaryDirectory
      .appendingPathComponent("conifer-move-\(UUID().uuidString)").path
    var old: String { base + "/old" }
    var new: String { base + "/new" }

    init() throws {
      try FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: base) }

    var names: [String] {
      ((try? FileManager.default.contentsOfDirectory(atPath: base)) ?? []).sorted()
    }
  }

  private static func database(_ store: KitStore, _ directory: String) -> Database {
    var configuration = DatabaseConfiguration(
      namespace: "test", storage: store.storage(at: directory))
    configuration.options.budget = nil
    configuration.logger.logLevel = .critical
    return Database(configuration)
  }

  /// Rooms that were read from a server, of which one is kept synced, and writes that wait.
  private func fill(_ store: KitStore, _ places: Places, rooms: Int = 2) async throws {
    let server = ConiferServer.Server()
    var configuration = DatabaseConfiguration(
      namespace: "test", storage: store.storage(at: places.old), transport: server.transport())
    configuration.options.budget = nil
    configuration.logger.logLevel = .critical
    let database = Database(configuration)
    for room in 0..<rooms {
      // Text that hardly compresses, so that there are many pieces to copy.
      var generator = SystemRandomNumberGenerator()
      let messages = (0..<2_000).map { number in
        let words = (0..<48).map { _ in String(generator.next() as UInt64, radix: 36) }
        return ("m\(number)", words.joined())
      }
      try await database.reference(withPath: "rooms/r\(room)")
        .setValue(Dictionary(uniqueKeysWithValues: messages))
      let snapshot = try await database.reference(withPath: "rooms/r\(room)")
        .observeSingleEvent(of: .value)
      try #require(snapshot.childrenCount == 2_000)
    }
    database.reference(withPath: "rooms/r0").keepSynced(true)
    database.goOffline()
    for number in 0..<10 {
      _ = try await database.reference(withPath: "waits/k\(number)").enqueue(.set(number)).durable
    }
    await database.close()
  }

  private static let id = "00000000000000ab"

  /// Marks the new storage as one that is being filled.
  private func mark(_ places: Places, _ phase: String) throws {
    try FileManager.default.createDirectory(
      atPath: places.new, withIntermediateDirectories: true)
    let lines = ["wait", "conifer storage migration 1", Self.id, phase, "", "", ""]
    try lines.joined(separator: "\n").write(
      toFile: places.new + "/unfinished", atomically: true, encoding: .utf8)
  }

  private func expectAll(_ store: KitStore, _ places: Places, rooms: Int = 2) async throws {
    let database = Self.database(store, places.new)
    for room in 0..<rooms {
      let snapshot = try await database.reference(withPath: "rooms/r\(room)").getData()
      #expect(snapshot.childrenCount == 2_000)
    }
    let waiting = try await database.pendingWrites()
    #expect(waiting.map(\.id.number) == Array(1...10).map { UInt64($0) + UInt64(rooms) })
    #expect(
      try await database.space(at: database.reference(withPath: "rooms/r0")).fate == .stays)
    #expect(try await database.verify().isSound)
    await database.close()
  }

  static let pairs: [(KitStore, KitStore)] = KitStore.allCases.flatMap { from in
    KitStore.allCases.filter { $0 != from }.map { (from, $0) }
  }

  @Test(arguments: pairs)
  func `brings all over, tells how far it is, and is done once`(
    from: KitStore, to: KitStore
  ) async throws {
    let places = try Places()
    try await fill(from, places)
    let migration = StorageMigration(
      from: from.storage(at: places.old), to: to.storage(at: places.new + "/"))
    let told = Gathered<StorageMigration.Progress>()
    #expect(try await migration.run { told.add($0) } == .moved)
    #expect(Set(told.all.map(\.step)) == [.checking, .copying, .comparing])
    #expect(told.all.allSatisfy { $0.step == .checking || $0.total > 1 << 20 && $0.done > 0 })
    #expect(places.names == ["new"])
    #expect(try await migration.run() == .nothingToMove)
    try await expectAll(to, places)
    #expect(try await migration.run() == .nothingToMove)
  }

  @Test(arguments: pairs)
  func `brings along what other processes left, also what comes to the old place later`(
    from: KitStore, to: KitStore
  ) async throws {
    let places = try Places()
    try await fill(from, places)
    let companion = CompanionDatabase(
      DatabaseConfiguration(namespace: "test", storage: from.storage(at: places.old)))
    let before = Self.database(from, places.old)
    try await before.takeMail()
    await before.close()
    try companion.setValue(1, at: "left/first", as: "")
    // As a process leaves it that dies before it removes what it has queued, and what was purged.
    try companion.setValue(0, at: "left/purged", as: "")
    let mailbox = Mailbox(of: places.old)
    let names = try mailbox.files()
    let backend = try from.storage(at: places.old).open()
    let tree = try await backend.tree(named: "test")
    _ = try await backend.commit([
      .enqueue(Lane(tree: tree, identity: ""), .set("left/first", 1)),
      MailMark.edit(.queued, of: names[0], in: tree),
      MailMark.edit(.givenUp([""]), of: names[1], in: tree),
    ])
    try await backend.close()
    try companion.setValue(3, at: "left/third", as: "")
    let migration = StorageMigration(
      from: from.storage(at: places.old), to: to.storage(at: places.new))
    #expect(try await migration.run() == .moved)
    #expect(places.names == ["new", "new.mail"])
    try companion.setValue(2, at: "left/second", as: "")
    #expect(try await migration.run() == .nothingToMove)
    #expect(places.names == ["new", "new.mail"])
    let database = Self.database(to, places.new)
    try await database.takeMail()
    let paths = try await database.pendingWrites().map { "\($0.path)" }
    #expect(
      paths.filter { $0.hasPrefix("/left") } == ["/left/first", "/left/third", "/left/second"],
      "\(paths)")
    await database.close()
    #expect(try await migration.run() == .nothingToMove)
  }

  @Test func `moves beside files of the app, also where one has a store's name`() async throws {
    let places = try Places()
    try await fill(.sqlite, places)
    let files = FileManager.default
    let notes = places.new + "/notes"
    try files.createDirectory(atPath: notes, withIntermediateDirectories: true)
    try "kept".write(toFile: notes + "/letter", atomically: true, encoding: .utf8)
    try "".write(toFile: places.new + "/plain", atomically: true, encoding: .utf8)
    let migration = StorageMigration(
      from: .sqlite(at: places.old), to: .lmdb(at: places.new))
    _ = try await migration.run()
    for _ in 1...2 { #expect(try await migration.run() == .nothingToMove) }
    try await expectAll(.lmdb, places)
    #expect(files.fileExists(atPath: notes + "/letter"))
  }

  /// Each process gets a little further, and dies.
  @Test func `goes on after each kill, and nobody opens half of it`() async throws {
    let places = try Places()
    try await fill(.lmdb, places, rooms: 9)
    var phases: [String] = []
    for count in stride(from: 0, to: 200, by: 4) {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [base = places.base as String, count = count as Int] in
        let left = Atomic(count)
        let migration = StorageMigration(
          from: .lmdb(at: base + "/old"), to: .sqlite(at: base + "/new"))
        _ = try await migration.run { progress in
          guard progress.step != .checking else { return }
          if left.subtract(1, ordering: .relaxed).oldValue == 0 { kill(getpid(), SIGKILL) }
        }
        // It was done before: the process ends in the same way.
        kill(getpid(), SIGKILL)
      }
      guard FileManager.default.fileExists(atPath: places.old) else { break }
      let database = Self.database(.sqlite, places.new)
      await #expect(throws: DatabaseError.self) { try await database.space() }
      await database.close()
      let mark = try String(contentsOfFile: places.new + "/unfinished", encoding: .utf8)
      let lines = mark.split(separator: "\n", omittingEmptySubsequences: false)
      phases.append(String(lines[3]) + (lines[4].isEmpty ? "" : " within a tree"))
    }
    // It was killed while it copied, and while it compared.
    #expect(phases.contains("data within a tree") && phases.contains("done"), "\(phases)")
    #expect(places.names == ["new"])
    let migration = StorageMigration(
      from: .lmdb(at: places.old), to: .sqlite(at: places.new))
    _ = try await migration.run()
    #expect(places.names == ["new"])
    try await expectAll(.sqlite, places, rooms: 9)
  }

  /// What a kill leaves between the agreement and the end.
  @Test func `ends what a kill left of its end`() async throws {
    let places = try Places()
    try await fill(.log, places)
    let copy = places.base + "/kept"
    try FileManager.default.copyItem(atPath: places.old, toPath: copy)
    let migration = StorageMigration(
      from: .log(at: places.old), to: .sqlite(at: places.new))
    #expect(try await migration.run() == .moved)
    // As it was when the source had been marked.
    try mark(places, "done")
    try "wait\nconifer storage moved 1\n\(Self.id)\n".write(
      toFile: copy + "/unfinished", atomically: true, encoding: .utf8)
    try FileManager.default.moveItem(atPath: copy, toPath: places.old)
    #expect(try await migration.run() == .moved)
    #expect(places.names == ["new"])
    try await expectAll(.sqlite, places)
  }

  /// As it is when the earlier storage was changed between two runs.
  @Test func `copies anew what does not agree`() async throws {
    let places = try Places()
    try await fill(.log, places)
    let migration = StorageMigration(
      from: .log(at: places.old), to: .sqlite(at: places.new))
    try mark(places, "done")
    #expect(try await migration.run() == .moved)
    #expect(places.names == ["new"])
    try await expectAll(.sqlite, places)
  }

  @Test func `is refused where something is in the way`() async throws {
    let places = try Places()
    func code(_ from: StorageConfiguration, _ to: StorageConfiguration) async -> StoreError.Code? {
      do throws(StoreError) {
        _ = try await StorageMigration(from: from, to: to).run()
        return nil
      } catch { return error.code }
    }
    let (old, new) = (
      StorageConfiguration.log(at: places.old), StorageConfiguration.sqlite(at: places.new)
    )
    #expect(await code(.memory, new) == .invalid)
    #expect(await code(old, .sqlite(at: places.old + "/within")) == .invalid)
    #expect(await code(old, .sqlite(at: places.old + "/")) == .invalid)
    // Nothing was ever there.
    #expect(await code(old, new) == nil)
    #expect(places.names == [])
    try await fill(.log, places, rooms: 1)
    let open = try old.open()
    #expect(await code(old, new) == .busy)
    try await open.close()
    #expect(places.names == ["old"])
    try mark(places, "queues")
    #expect(await code(.log(at: places.base + "/other"), new) == .foreign)
    try FileManager.default.moveItem(atPath: places.old, toPath: places.base + "/away")
    #expect(await code(old, new) == .foreign)
    try FileManager.default.moveItem(atPath: places.base + "/away", toPath: places.old)
    #expect(await code(old, new) == nil)
    try await expectAll(.sqlite, places, rooms: 1)
    // An earlier version of the app ran once more.
    try await fill(.log, places, rooms: 1)
    let outcome = try await StorageMigration(from: old, to: new).run()
    #expect(outcome == .earlierRemains(waiting: 10))
    #expect(places.names == ["new", "old"])
    try await expectAll(.sqlite, places, rooms: 1)
  }
}
