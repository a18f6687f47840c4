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
    let mark = MigrationMark(isAlone: false, kind: "")
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
      let mark = MigrationMark(isAlone: true, kind: "")
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

  /// Leaves two storages as a process does that is killed as soon as the new one can be opened, or whose disk was full then.
  private static func interrupt(_ move: StoreMoveFixture) throws {
    let mark = MigrationMark(isAlone: true, kind: "")
    try mark.write(to: move.to, from: move.from)
    try UnfinishedStore.end(move.to)
    try MovedStore.mark(move.from, id: mark.id, movedTo: move.to, isOver: false)
  }

  @Test("A storage that was moved is not moved again when the new one is gone")
  func gone() async throws {
    let move = try StoreMoveFixture(["lmdb", "sqlite"])
    defer { move.remove() }
    try await move.fill()
    let first = StorageMigration(from: Self.untold(move.source), to: move.target)
    let left = StorageMigration.Outcome.notRemoved(directory: move.from)
    #expect(try await first.run() == left)
    try Self.interrupt(move)
    #expect(try await first.run() == left)
    #expect(try MovedStore.isOver(move.from))
    System.removeTree(move.to)
    for _ in 0..<2 {
      #expect(try await first.run() == left)
      #expect(move.names == ["old"])
    }
  }

  @Test("A storage that may have no copy elsewhere is not removed for another that is moved there")
  func onlyCopy() async throws {
    let move = try StoreMoveFixture(["lmdb", "sqlite"])
    defer { move.remove() }
    try await move.fill()
    let other = StoreMoveFixture.storage("log", move.base + "/other")
    let digest = try await StoreMoveFixture.digest(move.source)
    // As a process leaves it that is killed before the new one can be opened, which is then removed.
    try MovedStore.mark(move.from, id: 7, movedTo: move.to, isOver: false)
    let migration = StorageMigration(from: other, to: move.source)
    #expect(try await migration.run() == .nothingToMove)
    let backend = try other.open()
    _ = try await backend.tree(named: "main")
    try await backend.close()
    for _ in 0..<2 {
      #expect(await StoreMoveFixture.code(migration) == .foreign)
      #expect(move.names == ["old", "other"])
    }
    #expect(try await move.migration.run() == .moved)
    #expect(try await StoreMoveFixture.digest(move.target) == digest)
    #expect(try await migration.run() == .moved)
    #expect(move.names == ["new", "old"])
  }

  @Test(
    "A storage is removed only when the new one is its copy, and no other that was made there",
    arguments: [false, true])
  func proof(isCopy: Bool) async throws {
    let move = try StoreMoveFixture(["log", "sqlite"])
    defer { move.remove() }
    try await move.fill()
    let digest = try await StoreMoveFixture.digest(move.source)
    try await move.target.open().close()
    if isCopy {
      try Self.interrupt(move)
      #expect(try await move.migration.run() == .nothingToMove)
      #expect(move.names == ["new"])
      #expect(Directory.isMissing(move.to + "/" + UnfinishedStore.ended))
      return
    }
    try MovedStore.mark(move.from, id: 7, movedTo: move.to, isOver: false)
    for _ in 0..<2 {
      #expect(try await move.migration.run() == .notRemoved(directory: move.from))
      #expect(move.names == ["new", "old"])
    }
    System.removeTree(move.to)
    #expect(try await move.migration.run() == .moved)
    try await move.expectWhole(digest)
  }

  @Test("A storage goes back over one whose end was not written", arguments: [false, true])
  func backAfterKill(isCopy: Bool) async throws {
    let move = try StoreMoveFixture(["lmdb", "sqlite"])
    defer { move.remove() }
    try await move.fill()
    let first = StorageMigration(from: Self.untold(move.source), to: move.target)
    #expect(try await first.run() == .notRemoved(directory: move.from))
    let digest = try await StoreMoveFixture.digest(move.target)
    try Self.interrupt(move)
    if !isCopy { Directory.remove(move.to + "/" + UnfinishedStore.ended) }
    let back = StorageMigration(from: move.target, to: move.source)
    if isCopy {
      #expect(try await back.run() == .moved)
      #expect(move.names == ["old"])
      #expect(try await StoreMoveFixture.digest(move.source) == digest)
    } else {
      #expect(await StoreMoveFixture.code(back) == .foreign)
      #expect(move.names == ["new", "old"])
    }
  }

  @Test("Two processes that move at once end with one whole storage")
  func twice() async throws {
    let master = try StoreMoveFixture(["log", "sqlite"])
    defer { master.remove() }
    try await master.fill()
    let digest = try await StoreMoveFixture.digest(master.source)
    for round in 0..<12 {
      let move = try master.copied()
      defer { move.remove() }
      let codes = await withTaskGroup(of: StoreError.Code?.self) { group in
        for _ in 0..<3 { group.addTask { await move.code() } }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(codes.allSatisfy { $0 == nil || $0 == .busy }, "\(round): \(codes)")
      #expect(codes.contains(nil), "\(round)")
      _ = try await move.migration.run()
      try await move.expectWhole(digest, "\(round)")
    }
  }

  @Test("A move that another process ends meanwhile makes nothing anew", arguments: [false, true])
  func beaten(isRefused: Bool) async throws {
    let move = try StoreMoveFixture(["log", "sqlite"])
    defer { move.remove() }
    try await move.fill()
    let digest = try await StoreMoveFixture.digest(move.source)
    // What the other process makes.
    let other = try move.copied()
    defer { other.remove() }
    #expect(try await other.migration.run() == .moved)
    let source = move.source.opened { (options) throws(StoreError) in
      if Directory.isMissing(move.to) {
        Directory.remove(move.from)
        try Directory.move(other.to, to: move.to)
        if isRefused { throw StoreError(.busy, "It was open a moment ago.") }
      }
      return try move.source.with(options).open()
    }
    let migration = StorageMigration(from: source, to: move.target)
    #expect(try await migration.run() == .nothingToMove)
    try await move.expectWhole(digest)
  }

  @Test("A salvage of the source that a kill cut short is ended")
  func salvaging() async throws {
    let move = try StoreMoveFixture(["log", "sqlite"])
    defer { move.remove() }
    try await move.fill()
    let digest = try await StoreMoveFixture.digest(move.source)
    // The damaged files are out of the way, and the new ones not in their place yet.
    let salvage = StoreExchange.salvageDirectory(move.from)
    try ConiferStorage.Platform.makeDirectory(salvage + "/store")
    for name in try Directory.names(in: move.from) where name != "owner" {
      try Directory.move("\(move.from)/\(name)", to: "\(salvage)/store/\(name)")
    }
    try UnfinishedStore.mark(move.from, ["open it", "place", "old.damaged"])
    #expect(try await move.migration.run() == .moved)
    try await move.expectWhole(digest)
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
