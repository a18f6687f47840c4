import ConiferKeyValue
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

/// What a move does to files and directories: it removes what it has moved, and nothing else.
@Suite(.timeLimit(.minutes(10))) struct MovedFilesTests {
  @Test("Files of the app stay in both directories", arguments: StoreMoveFixture.circle)
  func shared(pair: [String]) async throws {
    var move = try StoreMoveFixture(pair)
    defer { move.remove() }
    try move.share()
    for _ in 0..<2 { #expect(try await move.migration.run() == .nothingToMove) }
    try move.expectOnly([])
    try await move.fill()
    let digest = try await StoreMoveFixture.digest(move.source)
    #expect(try await move.migration.run() == .moved)
    try await move.expectWhole(digest)
    #expect(try await move.migration.run() == .nothingToMove)
    try await move.expectWhole(digest)
    // A storage without a database, beside the new one, and a file with the name of a moved one.
    try await move.source.open().close()
    try Directory.put([1], at: move.from + ".moved")
    #expect(try await move.migration.run() == .nothingToMove)
    #expect(ConiferStorage.Platform.read(move.from + ".moved", limit: 9) == [1])
  }

  @Test("A part of another kind is made anew, and files of the app beside it stay")
  func restarted() async throws {
    var move = try StoreMoveFixture(["lmdb", "sqlite"])
    defer { move.remove() }
    try await move.fill()
    try move.share()
    let digest = try await StoreMoveFixture.digest(move.source)
    // The part is damaged.
    let mark = MigrationMark(isAlone: false)
    try mark.write(to: move.to, from: move.from)
    try Directory.put([1, 2, 3], at: move.to + "/conifer.sqlite")
    #expect(try await move.migration.run() == .moved)
    try await move.expectWhole(digest)
  }

  /// A storage whose kind does not tell which files are its own.
  private static func untold(_ storage: StorageConfiguration) -> StorageConfiguration {
    StorageConfiguration(name: "own", location: storage.location, options: storage.options) {
      (options) throws(StoreError) in try storage.with(options).open()
    }
  }

  @Test("A storage whose files are not told stays, closed, and is never moved again")
  func untold() async throws {
    let move = try StoreMoveFixture(["lmdb", "sqlite"])
    defer { move.remove() }
    try await move.fill()
    let digest = try await StoreMoveFixture.digest(move.source)
    let (source, last) = (
      Self.untold(move.source), StoreMoveFixture.storage("log", move.base + "/zlast")
    )
    let first = StorageMigration(from: source, to: move.target)
    for _ in 0..<2 {
      #expect(try await first.run() == .notRemoved(directory: move.from))
      #expect(throws: StoreError.self) { try source.open() }
    }
    #expect(try await StorageMigration(from: move.target, to: last).run() == .moved)
    // The writes may have been sent from there.
    #expect(try await first.run() == .notRemoved(directory: move.from))
    #expect(move.names == ["old", "zlast"])
    // Nothing is left to be moved there, which is in nobody's way.
    let none = StoreMoveFixture.storage("lmdb", move.base + "/none")
    #expect(try await StorageMigration(from: none, to: source).run() == .nothingToMove)
    #expect(try await move.migration.run() == .nothingToMove)
    #expect(move.names == ["zlast"])
    #expect(try await StoreMoveFixture.digest(last) == digest)
  }

  @Test("A storage goes back to where an earlier one was not removed", arguments: [false, true])
  func back(isEnded: Bool) async throws {
    let move = try StoreMoveFixture(["lmdb", "sqlite"])
    defer { move.remove() }
    try await move.fill()
    let digest = try await StoreMoveFixture.digest(move.source)
    let source = Self.untold(move.source)
    let left = StorageMigration.Outcome.notRemoved(directory: move.from)
    #expect(try await StorageMigration(from: source, to: move.target).run() == left)
    if !isEnded {
      let mark = MigrationMark(isAlone: true)
      try mark.write(to: move.to, from: move.from)
      try MovedStore.mark(move.from, id: mark.id, movedTo: move.to, isOver: false)
    }
    let refused = StorageMigration(from: move.target, to: source)
    #expect(await StoreMoveFixture.code(refused) == .denied)
    #expect(try await StoreMoveFixture.digest(move.target) == digest)
    #expect(try await StorageMigration(from: move.target, to: move.source).run() == .moved)
    #expect(move.names == ["old"])
    #expect(try await StoreMoveFixture.digest(move.source) == digest)
  }

  @Test("What is removed is locked, and what is there without a mark stays")
  func removing() async throws {
    let move = try StoreMoveFixture(["sqlite", "log"])
    defer { move.remove() }
    try await move.fill()
    let digest = try await StoreMoveFixture.digest(move.source)
    func remove() -> Bool {
      UnfinishedStore.remove(move.from, StoreNames(move.source.files)) { () throws(StoreError) in
        try MovedStore.id(of: move.from) != nil
      }
    }
    #expect(remove())
    #expect(try await StoreMoveFixture.digest(move.source) == digest)
    try MovedStore.mark(move.from, id: 1, movedTo: move.to, isOver: false)
    let names = try Directory.names(in: move.from)
    let lock = try UnfinishedStore.making { () throws(StoreError) in
      try OwnerLock(path: move.from + "/owner")
    }
    #expect(!remove())
    #expect(try Directory.names(in: move.from) == names)
    lock.release()
    #expect(remove() && move.names.isEmpty)
    // What a process that is killed while it removes leaves last.
    for left in [[], ["owner"]] {
      try await move.target.open().close()
      try ConiferStorage.Platform.makeDirectory(move.from + ".moved-2")
      for name in left { try Directory.put([], at: move.from + ".moved-2/" + name) }
      #expect(try await move.migration.run() == .nothingToMove)
      #expect(move.names == ["new"])
    }
  }

  @Test(
    "A file that cannot be put leaves no draft", .enabled(if: IOSession.isAvailable),
    arguments: 0..<4)
  func putting(at: Int) throws {
    let directory = try System.makeTemporaryDirectory()
    defer { System.removeTree(directory) }
    let session = try IOSession.fail(directory, at: at, with: .error(ENOSPC))
    defer { session.end() }
    let error = #expect(throws: StoreError.self) {
      try Directory.put([1, 2, 3], at: directory + "/file")
    }
    #expect(error?.code == .full)
    #expect(try Directory.names(in: directory) == [])
  }

  @Test("What a process leaves that is killed before its mark is there is nothing")
  func draft() async throws {
    let move = try StoreMoveFixture(["log", "sqlite"])
    defer { move.remove() }
    try await move.fill()
    let digest = try await StoreMoveFixture.digest(move.source)
    try ConiferStorage.Platform.makeDirectory(move.to)
    try Directory.put([1, 2], at: move.to + "/draft")
    try Directory.move(move.to + "/draft", to: move.to + "/unfinished.new")
    #expect(try await move.migration.run() == .moved)
    try await move.expectWhole(digest)
  }

  @Test("Directories that are one another's, by whatever name, are refused")
  func aliases() async throws {
    let move = try StoreMoveFixture(["log", "sqlite"])
    defer { move.remove() }
    try await move.fill()
    let digest = try await StoreMoveFixture.digest(move.source)
    try #require(symlink(move.from, move.base + "/link") == 0)
    try #require(symlink(move.base, move.base + "/around") == 0)
    for path in [
      move.from, move.from + "/", move.from + "/.", move.base + "//old/within",
      move.base + "/link", move.base + "/link/within/deep", move.base + "/around/old",
      move.base + "/around/old/within", move.base + "/no/../old/within", move.base, "/",
    ] {
      let migration = StorageMigration(
        from: move.source, to: StoreMoveFixture.storage("sqlite", path))
      #expect(await StoreMoveFixture.code(migration) == .invalid, "\(path)")
      #expect(Directory.isMissing(move.from + "/within"), "\(path)")
    }
    #expect(try await StoreMoveFixture.digest(move.source) == digest)
    // A link to the earlier one: what is behind it goes.
    let linked = StorageMigration(
      from: StoreMoveFixture.storage("log", move.base + "/link"), to: move.target)
    #expect(try await linked.run() == .moved)
    #expect(Directory.isEmpty(move.from))
    #expect(try await StoreMoveFixture.digest(move.target) == digest)
    #expect(try await linked.run() == .nothingToMove)
  }

  @Test(
    "An earlier storage that cannot be removed is told, stays closed, and goes later",
    .enabled(if: IOSession.isAvailable), arguments: StoreMoveFixture.circle)
  func notRemoved(pair: [String]) async throws {
    let master = try StoreMoveFixture(pair)
    defer { master.remove() }
    try await master.fill()
    let digest = try await StoreMoveFixture.digest(master.source)
    let operations = try await master.operations()
    var told = 0
    for at in max(0, operations - 12)..<operations {
      let move = try master.copied()
      defer { move.remove() }
      let session = try IOSession.fail(move.base, at: at, with: .errors(EACCES))
      let outcome = try? await move.migration.run()
      session.end()
      if case .notRemoved(let directory)? = outcome {
        told += 1
        #expect(throws: StoreError.self) { try StoreMoveFixture.storage(pair[0], directory).open() }
        #expect(try await StoreMoveFixture.digest(move.target) == digest)
        #expect(try await move.migration.run() == .nothingToMove)
      } else {
        _ = try await move.migration.run()
      }
      try await move.expectWhole(digest, "operation \(at) of \(operations)")
    }
    #expect(told > 0)
  }
}
