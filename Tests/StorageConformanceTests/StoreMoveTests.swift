import ConiferKeyValue
import ConiferLMDB
import ConiferTree
import TestSupport
import Testing

@testable import ConiferStorage
@testable import StorageConformance

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A move of a storage to another backend: nothing is lost whatever it is interrupted by, and nothing is removed that has no
/// whole copy.
@Suite(.timeLimit(.minutes(10))) struct StoreMoveTests {
  @Test("Everything comes over, writes in every state too", arguments: StoreMoveFixture.pairs)
  func all(pair: [String]) async throws {
    let move = try StoreMoveFixture(pair)
    defer { move.remove() }
    try await move.fill()
    let digest = try await StoreMoveFixture.digest(move.source)
    let states = try await StoreMoveFixture.states(move.source)
    #expect(states.count == 16, "\(states)")
    #expect(try await move.migration.run() == .moved)
    try await move.expectWhole(digest)
    #expect(try await StoreMoveFixture.states(move.target) == states)
    #expect(try await move.migration.run() == .nothingToMove)
  }

  @Test(
    "A process that is killed at any file operation loses nothing, also when the directories then move",
    .enabled(if: IOSession.isAvailable), arguments: StoreMoveFixture.circle, [false, true])
  func killed(pair: [String], isShared: Bool) async throws {
    var master = try StoreMoveFixture(pair)
    defer { master.remove() }
    try await master.fill()
    if isShared { try master.share() }
    let digest = try await StoreMoveFixture.digest(master.source)
    let operations = try await master.operations()
    // Its end has the most steps.
    let last = (operations - 24)..<operations
    let places =
      Set(stride(from: 0, to: operations, by: max(1, operations / 16))).union(last).sorted()
    for at in places where at >= 0 {
      var move = try master.copied()
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [pair = pair as [String], base = move.base as String, at = at as Int] in
        let session = try IOSession.fail(base, at: at, with: .kill)
        _ = try await StoreMoveFixture(pair, base: base).migration.run()
        session.end()
        // A run may take fewer operations than when they were counted.
        kill(getpid(), SIGKILL)
      }
      if at.isMultiple(of: 2) { move = try move.renamed() }
      defer { move.remove() }
      let words = "\(pair), killed at operation \(at) of \(operations)"
      // Never may both be written to.
      let isOld = !Directory.isMissing(move.from) && Self.opens(move.source)
      let isNew = !Directory.isMissing(move.to) && Self.opens(move.target)
      #expect(!(isOld && isNew), "\(words)")
      let outcome = try await move.migration.run()
      #expect(outcome == .moved || outcome == .nothingToMove, "\(words)")
      try await move.expectWhole(digest, words)
      #expect(try await move.migration.run() == .nothingToMove, "\(words)")
    }
  }

  /// Whether a directory that holds a store can be opened.
  static func opens(_ storage: StorageConfiguration) -> Bool {
    guard let root = storage.root,
      (try? UnfinishedStore.isNothing(root, StoreNames(storage.files))) == false
    else { return false }
    do throws(StoreError) {
      let lock = try OwnerLock(path: root + "/owner")
      lock.release()
      return true
    } catch { return false }
  }

  @Test(
    "A file operation that fails ends in an error, and the next call ends the move",
    .enabled(if: IOSession.isAvailable), arguments: StoreMoveFixture.circle, [EIO, ENOSPC])
  func refused(pair: [String], number: Int32) async throws {
    let master = try StoreMoveFixture(pair)
    defer { master.remove() }
    try await master.fill()
    let digest = try await StoreMoveFixture.digest(master.source)
    let operations = try await master.operations()
    let last = max(0, operations - 16)..<operations
    var refused = 0
    for at in Set(stride(from: 0, to: operations, by: max(1, operations / 24))).union(last).sorted()
    {
      let move = try master.copied()
      defer { move.remove() }
      let words = "\(pair), error \(number) at operation \(at) of \(operations)"
      let session = try IOSession.fail(move.base, at: at, with: .error(number))
      if await move.code() != nil { refused += 1 }
      session.end()
      _ = try await move.migration.run()
      try await move.expectWhole(digest, words)
    }
    #expect(refused > 0)
  }

  @Test(
    "A disk that is full, or becomes full, gets back what was copied, and the next call with space moves all",
    .enabled(if: IOSession.isAvailable), arguments: StoreMoveFixture.circle,
    [StorageMigration.Progress.Step.checking, .copying, .comparing])
  func full(pair: [String], step: StorageMigration.Progress.Step) async throws {
    var move = try StoreMoveFixture(pair)
    defer { move.remove() }
    try await move.fill(rooms: 400)
    if pair[0] == "sqlite" { try move.share() }
    let digest = try await StoreMoveFixture.digest(move.source)
    let session = try IOSession.fail(move.base, at: nil, with: .kill)
    defer { session.end() }
    var code: StoreError.Code?
    do throws(StoreError) {
      _ = try await move.migration.run { if $0.step == step { session.setFull(true) } }
    } catch { code = error.code }
    session.setFull(false)
    if code == nil {
      // Closing the new one may have freed what the rest needs.
      #expect(step == .comparing)
    } else {
      #expect(code == .full)
      try move.expectOnly(["old"])
      #expect(try await StoreMoveFixture.digest(move.source) == digest)
      #expect(try await move.migration.run() == .moved)
    }
    try await move.expectWhole(digest)
  }

  @Test("A salvage of the new storage counts those of the earlier one")
  func salvages() async throws {
    let move = try StoreMoveFixture(["log", "sqlite"])
    defer { move.remove() }
    try await move.fill()
    for name in ["old.damaged", "old.damaged-2"] {
      try ConiferStorage.Platform.makeDirectory(move.base + "/" + name)
    }
    try Directory.put([1], at: move.base + "/old.damaged/file")
    #expect(try await move.migration.run() == .moved)
    #expect(
      move.names == ["new", "new.damaged", "new.damaged-2", "old.damaged", "old.damaged-2"])
    #expect(Directory.isEmpty(move.base + "/new.damaged"))
    #expect(try StoreExchange(move.to).number == 3)
    #expect(ConiferStorage.Platform.read(move.base + "/old.damaged/file", limit: 9) == [1])
  }

  /// Leaves a copy of which all was copied, and that was not compared.
  private static func interrupt(_ move: StoreMoveFixture) async throws {
    let session = try IOSession.fail(move.base, at: nil, with: .kill)
    defer { session.end() }
    _ = try? await move.migration.run { progress in
      guard progress.step == .comparing else { return }
      session.fail(at: session.operationCount, with: .errors(EIO))
    }
    try #require(try MigrationMark(of: move.to)?.place.phase == .done)
    #expect(try MovedStore.id(of: move.from) == nil)
  }

  @Test(
    "A source that changes between two calls is copied as it is then",
    .enabled(if: IOSession.isAvailable), arguments: StoreMoveFixture.circle)
  func changed(pair: [String]) async throws {
    let move = try StoreMoveFixture(pair)
    defer { move.remove() }
    try await move.fill()
    try await Self.interrupt(move)
    let backend = try move.source.open()
    let tree = try await backend.tree(named: "main")
    let lane = Lane(tree: tree, identity: "ann")
    let id = try await backend.commit([.enqueue(lane, .set("later", "write"))]).writes[0]
    let waiting = try backend.inspect { try $0.entries(lane, after: nil, limit: 1)[0].id }
    try await backend.commit([
      .finish(lane, waiting, .acknowledged), .setState(lane, id, .sent),
      .overwrite(tree, "rooms/r0/m3", "changed"), .overwrite(tree, "rooms/r1", Node()),
      .unpin(Pin(tree: tree, path: "rooms/r1")), .raiseQueueFloor(WriteID(rawValue: 500)),
      .wipe(try await backend.tree(named: "other", order: .utf8)),
    ])
    try await backend.close()
    let digest = try await StoreMoveFixture.digest(move.source)
    #expect(try await move.migration.run() == .moved)
    try await move.expectWhole(digest)
    #expect(try await Self.floor(move.target) == WriteID(rawValue: 500))
  }

  @Test(
    "A part that is of another kind than the target is now is made anew",
    .enabled(if: IOSession.isAvailable))
  func otherTarget() async throws {
    let move = try StoreMoveFixture(["lmdb", "sqlite"])
    defer { move.remove() }
    try await move.fill()
    let digest = try await StoreMoveFixture.digest(move.source)
    try await Self.interrupt(move)
    let other = try StoreMoveFixture(["lmdb", "log"], base: move.base)
    #expect(try await other.migration.run() == .moved)
    try await other.expectWhole(digest)
    #expect(Directory.isMissing(other.to + "/conifer.sqlite"))
  }

  @Test("A move that is begun again to another place ends there", arguments: [false, true])
  func elsewhere(isMarked: Bool) async throws {
    let move = try StoreMoveFixture(["lmdb", "sqlite"])
    defer { move.remove() }
    try await move.fill()
    let digest = try await StoreMoveFixture.digest(move.source)
    // As a process leaves it that is killed before the new one can be opened.
    let mark = MigrationMark(isAlone: true, kind: "")
    try ConiferStorage.Platform.makeDirectory(move.to)
    try mark.write(to: move.to, from: move.from)
    if isMarked {
      try MovedStore.mark(move.from, id: mark.id, movedTo: move.to, isOver: false)
    }
    let other = StoreMoveFixture.storage("log", move.base + "/other")
    #expect(try await StorageMigration(from: move.source, to: other).run() == .moved)
    #expect(move.names == ["new", "other"])
    #expect(try await StoreMoveFixture.digest(other) == digest)
    #expect(await move.code() == .foreign)
    #expect(throws: StoreError.self) { try move.target.open() }
  }

  @Test("A storage that was salvaged to nothing hands on which numbers were lost")
  func emptied() async throws {
    let move = try StoreMoveFixture(["lmdb", "log"])
    defer { move.remove() }
    let earlier = try move.source.open()
    try await earlier.commit([.raiseQueueFloor(WriteID(rawValue: 700))])
    try await earlier.close()
    #expect(try await move.migration.run() == .moved)
    #expect(try await Self.floor(move.target) == WriteID(rawValue: 700))
  }

  @Test(
    "A number below which none is given is moved also when it alone has changed",
    .enabled(if: IOSession.isAvailable))
  func raised() async throws {
    let move = try StoreMoveFixture(["lmdb", "log"])
    defer { move.remove() }
    try await move.fill()
    try await Self.interrupt(move)
    let backend = try move.source.open()
    try await backend.commit([.raiseQueueFloor(WriteID(rawValue: 900))])
    try await backend.close()
    #expect(try await move.migration.run() == .moved)
    #expect(try await Self.floor(move.target) == WriteID(rawValue: 900))
  }

  private static func floor(_ storage: StorageConfiguration) async throws -> WriteID? {
    let backend = try storage.open()
    let floor = try backend.inspect { try $0.queueFloor() }
    try await backend.close()
    return floor
  }

  @Test("A source with records of a later version is refused, and stays")
  func later() async throws {
    let move = try StoreMoveFixture(["lmdb", "log"])
    defer { move.remove() }
    try await move.fill()
    let store = try LMDBStore(at: move.from, LMDBOptions())
    var batch = Batch()
    batch.put(Space(id: 200, shape: .rows), [1], [1])
    _ = try store.apply(batch, .process)
    try store.close()
    #expect(await move.code() == .newerFormat)
    #expect(move.names == ["old"])
  }

  @Test("A new directory in which somebody else makes a store is refused")
  func occupied() async throws {
    let move = try StoreMoveFixture(["lmdb", "log"])
    defer { move.remove() }
    try await move.fill()
    try ConiferStorage.Platform.makeDirectory(move.to)
    try UnfinishedStore.mark(move.to, ["wait", "conifer storage migration 2"])
    #expect(await move.code() == .foreign)
    #expect(move.names == ["new", "old"])
  }

  @Test("A damaged source is refused, and nothing of it changes", arguments: StoreMoveFixture.kinds)
  func damaged(kind: String) async throws {
    let move = try StoreMoveFixture([kind, kind == "log" ? "sqlite" : "log"])
    defer { move.remove() }
    try await move.fill()
    try Self.harm(move.from)
    func files() throws -> [String: [UInt8]] {
      var files: [String: [UInt8]] = [:]
      for name in try Directory.names(in: move.from) where !["owner", "lock.mdb"].contains(name) {
        files[name] = ConiferStorage.Platform.read("\(move.from)/\(name)", limit: 1 << 27)
      }
      return files
    }
    let before = try files()
    for _ in 0..<2 {
      #expect(await move.code() == .damaged)
      #expect(move.names == ["old"])
    }
    // A log begins a segment whenever it is opened.
    if kind != "log" { #expect(try files() == before) }
  }

  /// Changes a byte of a write that waits, wherever its record lies.
  private static func harm(_ directory: String) throws {
    var found = 0
    for name in try Directory.names(in: directory) {
      let path = "\(directory)/\(name)"
      let bytes = ConiferStorage.Platform.read(path, limit: 1 << 27) ?? []
      let sought = Array("write 7".utf8)
      for at in bytes.indices.dropLast(sought.count) where bytes[at] == sought[0] {
        guard bytes[at..<(at + sought.count)].elementsEqual(sought) else { continue }
        let file = open(path, O_RDWR)
        defer { close(file) }
        try #require(pwrite(file, [UInt8(ascii: "W")], 1, off_t(at)) == 1)
        found += 1
      }
    }
    try #require(found > 0)
  }

  @Test("Nobody else opens a source from its check until it is gone")
  func locked() async throws {
    let move = try StoreMoveFixture(["lmdb", "log"])
    defer { move.remove() }
    try await move.fill()
    let codes = Gathered<StoreError.Code?>()
    let source = move.source
    _ = try await move.migration.run { _ in
      do throws(StoreError) {
        _ = try source.open()
        codes.add(nil)
      } catch { codes.add(error.code) }
    }
    #expect(!codes.all.isEmpty && codes.all.allSatisfy { $0 == .busy }, "\(codes.all)")
    // Who comes when it was compared, and not renamed yet, is refused too.
    let other = try StoreMoveFixture(["lmdb", "log"])
    defer { other.remove() }
    try await other.fill()
    try MovedStore.mark(other.from, id: 1, movedTo: other.to, isOver: false)
    let error = #expect(throws: StoreError.self) { try other.source.open() }
    #expect(error?.code == .foreign)
    // What it was moved into is gone: nothing of it may be removed.
    let marked = try UnfinishedStore.making { () throws(StoreError) in try other.source.open() }
    let digest = try await StoreDigest.of(marked)
    try await marked.close()
    #expect(try await other.migration.run() == .moved)
    try await other.expectWhole(digest)
  }

  @Test("A storage that an earlier version makes anew stays, and what waits in it is told")
  func earlier() async throws {
    let move = try StoreMoveFixture(["sqlite", "lmdb"])
    defer { move.remove() }
    try await move.fill()
    let digest = try await StoreMoveFixture.digest(move.source)
    #expect(try await move.migration.run() == .moved)
    func begin() async throws {
      let backend = try move.source.open()
      let lane = Lane(tree: try await backend.tree(named: "main"), identity: "ann")
      for _ in 0..<3 { try await backend.commit([.enqueue(lane, .set("later", "write"))]) }
      try await backend.close()
    }
    try await begin()
    let other = try await StoreMoveFixture.digest(move.source)
    for _ in 0..<2 { #expect(try await move.migration.run() == .earlierRemains(waiting: 3)) }
    // As when a process was killed while it removed the one that was moved.
    try ConiferStorage.Platform.makeDirectory(move.from + ".moved")
    try MovedStore.mark(move.from + ".moved", id: 1, movedTo: move.to, isOver: true)
    #expect(try await move.migration.run() == .earlierRemains(waiting: 3))
    #expect(move.names == ["new", "old"])
    #expect(try await StoreMoveFixture.digest(move.source) == other)
    #expect(try await StoreMoveFixture.digest(move.target) == digest)
    let backend = try move.source.open()
    #expect(try await move.migration.run() == .earlierRemains(waiting: nil))
    try await backend.close()
  }
}
