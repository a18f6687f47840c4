import ConiferKeyValue
import ConiferLeafStore
import ConiferLog
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferStorage
@testable import StorageConformance

/// What was acknowledged as durable and is not in the store's files is reported, and nothing else is.
@Suite struct SyncMarkTests {
  static let kinds = ["lmdb", "sqlite", "log"]

  // MARK: What is lost

  @Test(
    "Durable commits that are missing are reported once, with their number",
    arguments: kinds, [StoreRole.cache, .authority])
  func missing(kind: String, role: StoreRole) async throws {
    var lives = try Lives(kind)
    defer { lives.remove() }
    try await lives.run(9, images: [4, 9])
    let newest = try #require(Self.mark(lives.images[1]))
    #expect(try #require(Self.mark(lives.images[0])).number == newest.number - 5)
    try lives.put(lives.images[1])
    let whole = try await lives.read(role)
    #expect(whole.reports == [] && whole.writes == 9)
    try lives.put(Self.with(lives.images[0], newest))
    for _ in 1...3 {
      let found = try await lives.read(role)
      #expect(found.writes == 4 && found.lost == 5, "\(found)")
    }
  }

  @Test("No write gets the number of one that is lost", arguments: kinds)
  func numbers(kind: String) async throws {
    var lives = try Lives(kind)
    defer { lives.remove() }
    var given: [WriteID] = []
    try await lives.run(9, images: [4, 9]) { backend, edits, _ in
      given += try await backend.commit(edits, .power).writes
    }
    try lives.put(Self.with(lives.images[0], Self.mark(lives.images[1])))
    try await lives.read { backend in
      let tree = try await backend.tree(named: "main")
      for lane in [Lane(tree: tree), Lane(tree: tree, identity: "ann")] {
        let next = try await backend.commit([.enqueue(lane, .set("b", 1))], .power).writes[0]
        #expect(next > given[8], "\(lane.identity)")
      }
      #expect(try backend.verifying().verify().isSound)
    }
  }

  @Test("A log that was cut after a kill is reported", arguments: ["sqlite", "log"], [0, 1, 2])
  func cut(kind: String, part: Int) async throws {
    var lives = try Lives(kind)
    defer { lives.remove() }
    try await lives.run(20, images: [20])
    let log = try #require(
      lives.images[0].filter { $0.name.hasSuffix("-wal") || $0.name.hasSuffix(".segment") }
        .max { $0.used < $1.used })
    try StoreFile.write(
      lives.images[0], to: lives.path,
      Mutation(file: log.name, position: part == 0 ? 0 : log.used * part / 3, kind: .cut))
    do {
      let found = try await lives.read()
      let lost = try #require(found.lost, "\(found)")
      // The first commits made the store and its tree.
      #expect(found.writes < 20 && (20 - found.writes...22).contains(Int(lost)), "\(found)")
    } catch let error as StoreError {
      #expect(error.code == .damaged && part == 0, "\(error)")
    }
  }

  @Test("A new store in the place of one that is gone tells of it", arguments: kinds)
  func replaced(kind: String) async throws {
    var lives = try Lives(kind)
    defer { lives.remove() }
    try await lives.run(9, images: [9])
    try lives.put(lives.images[0].filter { $0.name == SyncMarkFile.name })
    let number = try #require(lives.mark).number
    for _ in 1...2 {
      let found = try await lives.read { _ = try await $0.tree(named: "main") }
      #expect(found.writes == 0 && found.lost == number, "\(found)")
    }
    #expect(try #require(lives.mark).number < number)
  }

  @Test("An older copy of the whole directory is a store like any other", arguments: kinds)
  func restored(kind: String) async throws {
    var lives = try Lives(kind)
    defer { lives.remove() }
    try await lives.run(9, images: [4])
    try lives.put(lives.images[0])
    let found = try await lives.read()
    #expect(found.reports == [] && found.writes == 4)
  }

  // MARK: The mark

  @Test(
    "What a later sync made durable counts, and nothing that no sync has covered", arguments: kinds)
  func hardened(kind: String) async throws {
    var lives = try Lives(kind)
    defer { lives.remove() }
    var third: CommitID?
    try await lives.run(209, images: [1, 8, 208, 209]) { backend, edits, number in
      let commit = try await backend.commit(edits, number == 1 ? .power : .process).commit
      if number == 3 { third = commit }
      if number == 208, let third { try await backend.harden(third) }
      if number == 209 { try await backend.harden(commit) }
    }
    let marks = try lives.images.map { try #require(Self.mark($0)).number }
    #expect(marks == [marks[0], marks[0], marks[0] + 2, marks[0] + 208])
    // The first image lacks two commits that were durable then.
    try lives.put(Self.with(lives.images[0], Self.mark(lives.images[2])))
    let found = try await lives.read()
    #expect(found.writes == 1 && found.lost == 2, "\(found)")
  }

  @Test("Closing, suspending and a later .power make the mark exact", arguments: kinds)
  func released(kind: String) async throws {
    let lives = try Lives(kind)
    defer { lives.remove() }
    let backend = try Self.open(kind, lives.path)
    let lane = Lane(tree: try await backend.tree(named: "main"))
    let first = try #require(lives.mark).number
    func commit() async throws {
      _ = try await backend.commit([.enqueue(lane, .set("a", 1))], .process)
    }
    try await commit()
    #expect(lives.mark?.number == first)
    try await backend.suspend()
    #expect(lives.mark?.number == first + 1)
    #expect(System.openFiles(under: lives.path) == [])
    try await backend.resume()
    try await commit()
    // A commit that changes nothing syncs what is before it.
    _ = try await backend.commit([], .power)
    #expect(lives.mark?.number == first + 2)
    try await commit()
    try await backend.close()
    #expect(lives.mark?.number == first + 3)
    let found = try await lives.read()
    #expect(found.reports == [] && found.writes == 3)
    #expect(lives.mark?.number == first + 3)
  }

  @Test("A mark's file is closed with the last who holds it")
  func descriptor() throws {
    let lives = try Lives("log")
    defer { lives.remove() }
    do {
      let file = SyncMarkFile(in: lives.directory)
      _ = file.read(of: nil)
      file.write(StoreCommit(store: 1, number: 1))
      #expect(System.openFiles(under: lives.directory).count == 1)
    }
    #expect(System.openFiles(under: lives.directory) == [])
  }

  @Test("A mark that is gone, torn, or another store's says nothing", arguments: kinds)
  func foreign(kind: String) async throws {
    var lives = try Lives(kind)
    var other = try Lives(kind)
    defer {
      lives.remove()
      other.remove()
    }
    try await lives.run(4, images: [2, 4])
    try await other.run(9, images: [9])
    let newest = SyncMark.bytes(try #require(Self.mark(lives.images[1])))
    var marks: [[UInt8]?] = [nil, [], newest + [0], newest + Array(repeating: 7, count: 100)]
    marks.append(SyncMark.bytes(try #require(Self.mark(other.images[0]))))
    marks.append(Array(repeating: 0, count: SyncMark.length))
    for length in [8, 16, 24, 31] { marks.append(Array(newest[..<length])) }
    for place in newest.indices {
      var changed = newest
      changed[place] ^= 1 << UInt8(place % 8)
      marks.append(changed)
    }
    for mark in marks {
      try lives.put(Self.with(lives.images[0], mark))
      let before = Self.mark(lives.images[0])
      let found = try await lives.read { backend in
        // Such a mark is replaced by the next durable commit.
        let lane = Lane(tree: try await backend.tree(named: "main"))
        _ = try await backend.commit([.enqueue(lane, .set("a", 1))], .power)
      }
      #expect(found.reports == [] && found.writes == 2, "\(mark ?? [])")
      #expect(lives.mark?.store == before?.store)
      #expect(lives.mark?.number == before.map { $0.number + 1 }, "\(mark ?? [])")
    }
  }

  @Test("A file that is not a mark is told once and never written", arguments: kinds)
  func strange(kind: String) async throws {
    var lives = try Lives(kind)
    defer { lives.remove() }
    try await lives.run(2, images: [2])
    let text = [UInt8]("when the disks were synced: never".utf8)
    try lives.put(Self.with(lives.images[0], text))
    for round in 1...3 {
      let found = try await lives.read { backend in
        _ = try await backend.commit(
          [.enqueue(Lane(tree: try await backend.tree(named: "main")), .set("a", 1))], .power)
      }
      #expect(found.writes == 1 + round && found.reports.count == 1, "\(found)")
      #expect(found.reports.first?.place.contains("the file synced") == true)
      #expect(lives.files.first { $0.name == SyncMarkFile.name }?.bytes == text)
    }
  }

  @Test(
    "Numbers up to the last are counted, and forged ones say nothing",
    arguments: kinds,
    [StoreCommit.lastNumber - 1, StoreCommit.lastNumber, StoreCommit.lastNumber + 1, .max])
  func forged(kind: String, number: UInt64) async throws {
    var lives = try Lives(kind)
    defer { lives.remove() }
    try await lives.run(3, images: [3])
    let real = try #require(Self.mark(lives.images[0]))
    try lives.put(
      Self.with(
        lives.images[0], SyncMark.bytes(StoreCommit(store: real.store, number: number))))
    for round in 0...3 {
      let found = try await lives.read { backend in
        _ = try await backend.commit(
          [.enqueue(Lane(tree: try await backend.tree(named: "main")), .set("a", 1))], .power)
        #expect(try backend.verifying().verify().isSound)
      }
      #expect(found.writes == 3 + round)
      let isBelieved = number <= StoreCommit.lastNumber
      #expect(found.lost == (isBelieved ? number - real.number : nil), "\(found)")
      #expect(found.reports.count == (isBelieved ? 1 : 0))
    }
  }

  // MARK: The store's number

  /// The store of five commits whose number was replaced.
  private func replaced(_ lives: inout Lives, by value: [UInt8]?) async throws -> StoreCommit {
    try await lives.run(5, images: [])
    let before = try #require(lives.mark)
    let store = try LogStore(at: lives.path)
    var batch = Batch()
    if let value {
      batch.put(Spaces.usage, StoreCommit.key, value)
    } else {
      batch.delete(Spaces.usage, StoreCommit.key)
    }
    _ = try store.apply(batch, .power)
    try store.close()
    return before
  }

  @Test(
    "Where the store's number is damaged or forged, it is told that nothing is known",
    arguments: [
      [], [1, 2, 3, 4, 5],
      Record.seal(Spaces.usage, StoreCommit.key, StoreCommit(store: 1, number: .max).payload),
      Record.seal(Spaces.usage, StoreCommit.key, []),
    ] as [[UInt8]])
  func unknown(value: [UInt8]) async throws {
    var lives = try Lives("log")
    defer { lives.remove() }
    let before = try await replaced(&lives, by: value)
    for round in 0...1 {
      let found = try await lives.read {
        let next = try await self.enqueue($0)
        #expect(next.rawValue > 5)
        #expect(try $0.verifying().verify().isSound)
      }
      #expect(found.reports.count == 1 && found.writes == 5 + round, "\(found)")
      #expect(found.reports.allSatisfy { LostCommits.isUnknown($0) })
      // Numbering begins anew, so that the old mark cannot be taken for one of it.
      let after = try #require(lives.mark)
      #expect(after.store != before.store && after.number > 1)
      try lives.put(Self.with(lives.files, before))
    }
  }

  @Test("A mark of another numbering says nothing, and a forged last number neither")
  func renumbered() async throws {
    var lives = try Lives("log")
    defer { lives.remove() }
    let last = StoreCommit(store: 1, number: StoreCommit.lastNumber)
    let before = try await replaced(
      &lives, by: Record.seal(Spaces.usage, StoreCommit.key, last.payload))
    let found = try await lives.read { _ = try await self.enqueue($0) }
    #expect(found.reports == [])
    #expect(try #require(lives.mark).number == 1)
    try lives.put(Self.with(lives.files, before))
    #expect(try await lives.read().reports == [])
  }

  @Test("A store without a number lacks all that the mark beside it names")
  func upgraded() async throws {
    var lives = try Lives("log")
    defer { lives.remove() }
    let before = try await replaced(&lives, by: nil)
    let found = try await lives.read {
      let next = try await self.enqueue($0)
      #expect(next.rawValue > 5)
    }
    #expect(found.lost == before.number && found.writes == 5, "\(found)")
    #expect(try await lives.read().reports.count == 1)
  }

  @Test("A version that does not know the number leaves it, whatever it does", arguments: [0, 3])
  func older(numbered: Int) async throws {
    let lives = try Lives("log")
    defer { lives.remove() }
    try System.makeDirectory(lives.path)
    if numbered > 0 {
      try await lives.read { for _ in 1...numbered { _ = try await self.enqueue($0) } }
    }
    let old = try MarkedStore(lives.path)
    old.behavior.withLock { $0.change = { $0.without(Spaces.usage.id, StoreCommit.key) } }
    let backend = try PackedBackend(old, name: "log", options: StorageOptions())
    for _ in 1...5 { _ = try await enqueue(backend) }
    try await backend.run { (engine) throws(StoreError) in
      // All counts are made anew, as after damage.
      try engine.repairer.change(.power) { (repair) throws(StoreError) in
        try repair.tx.delete(Spaces.usage, StoreKey.prefix(TreeID(rawValue: 0)))
        try repair.loseUsage(TreeID(rawValue: 0))
      }
      try engine.mender.finish()
    }
    _ = try await backend.commit([.wipe(try await backend.tree(named: "main"))], .power)
    for _ in 1...2 { _ = try await enqueue(backend) }
    #expect(try backend.verifying().verify().isSound)
    try await backend.close()
    for round in 0...2 {
      let found = try await lives.read {
        _ = try await self.enqueue($0)
        #expect(try $0.verifying().verify().isSound)
      }
      #expect(found.reports == [] && found.writes == 2 + round)
    }
    #expect(lives.mark != nil)
  }

  @Test("Wipes, clears and recounts keep the number", arguments: kinds)
  func wiped(kind: String) async throws {
    var lives = try Lives(kind)
    defer { lives.remove() }
    var repeated: [[StoreFile]] = []
    let path = lives.path
    try await lives.run(4, images: [3]) { backend, edits, number in
      if number < 4 { _ = try await backend.commit(edits, .power) }
      guard number == 4 else { return }
      let tree = try await backend.tree(named: "main")
      _ = try await backend.commit([.purge(Lane(tree: tree))], .process)
      repeated.append(StoreFile.all(in: path))
      _ = try await backend.commit([.wipe(tree)], .process)
      repeated.append(StoreFile.all(in: path))
    }
    for files in [lives.images[0]] + repeated {
      try lives.put(files)
      #expect(try await lives.read().reports == [])
    }
  }

  // MARK: The report

  @Test("A report that cannot be stored is tried again, and until then the mark stays")
  func refused() async throws {
    var lives = try Lives("log")
    defer { lives.remove() }
    try await lives.run(9, images: [4, 9])
    let newest = try #require(Self.mark(lives.images[1]))
    try lives.put(Self.with(lives.images[0], newest))
    let store = try MarkedStore(lives.path)
    store.behavior.withLock { $0.refuses = { $0.puts(Spaces.incidents.id) } }
    let backend = try PackedBackend(store, name: "log", options: Self.logOptions(lives.path))
    let tree = try await backend.tree(named: "main")
    var given: [UInt64] = [9]
    for _ in 1...3 {
      let receipt = try await backend.commit(
        [.overwrite(tree, "b", 1), .pin(Pin(tree: tree, path: "b"))], .power)
      try await backend.harden(receipt.commit)
      _ = try await backend.commit([.unpin(Pin(tree: tree, path: "b"))], .power)
      given.append(try await enqueue(backend).rawValue)
      #expect(lives.mark == newest)
    }
    let left = lives.files
    store.behavior.withLock { $0.refuses = { _ in false } }
    let next = try await enqueue(backend)
    given.append(next.rawValue)
    #expect(zip(given, given.dropFirst()).allSatisfy { $0 < $1 }, "\(given)")
    #expect(try Self.found(backend).lost == 5)
    #expect(try #require(lives.mark).number > newest.number)
    try await backend.close()
    // The process might have ended before that.
    try lives.put(left)
    let found = try await lives.read { backend in
      let next = try await self.enqueue(backend)
      #expect(next.rawValue > given[3])
    }
    #expect(found.writes == 7 && found.lost == 5, "\(found)")
    #expect(try await lives.read().lost == 5)
  }

  @Test("What is lost is found out before recovery commits")
  func recovery() async throws {
    var lives = try Lives("log")
    defer { lives.remove() }
    try await lives.run(9, images: [4, 9])
    try lives.put(Self.with(lives.images[0], Self.mark(lives.images[1])))
    let store = try MarkedStore(lives.path)
    store.behavior.withLock {
      $0.findings = [StoreFinding(file: "f", offset: 0, bytes: 1, spaces: 9...9, words: "a part")]
      $0.refuses = { $0.puts(Spaces.incidents.id) }
    }
    #expect(throws: StoreError.self) {
      _ = try PackedBackend(store, name: "log", options: Self.logOptions(lives.path))
    }
    try store.close()
    let found = try await lives.read()
    #expect(found.reports.compactMap { LostCommits.count($0) } == [5], "\(found)")
    #expect(found.reports.contains { $0.place.contains("a part") })
  }

  @Test("A store that lost commits while it was suspended tells of them")
  func resumed() async throws {
    var lives = try Lives("log")
    defer { lives.remove() }
    try await lives.run(9, images: [4, 9])
    try lives.put(lives.images[1])
    let backend = try Self.open("log", lives.path)
    #expect(try Self.found(backend).reports == [])
    try await backend.suspend()
    try lives.put(Self.with(lives.images[0], lives.mark))
    try await backend.resume()
    #expect(try Self.found(backend).lost == 5)
    _ = try await enqueue(backend)
    try await backend.close()
    #expect(try await lives.read().lost == 5)
  }

  @Test("A suspension whose sync failed leaves a mark of what was synced before")
  func failedSuspension() async throws {
    var lives = try Lives("log")
    defer { lives.remove() }
    try await lives.run(4, images: [4])
    try lives.put(lives.images[0])
    let store = try MarkedStore(lives.path)
    let backend = try PackedBackend(store, name: "log", options: Self.logOptions(lives.path))
    let tree = try await backend.tree(named: "main")
    let mark = try #require(lives.mark)
    _ = try await backend.commit([.overwrite(tree, "b", 1)], .process)
    store.behavior.withLock { $0.failsSuspending = true }
    await #expect(throws: StoreError.self) { try await backend.suspend() }
    try await backend.close()
    #expect(lives.mark == mark)
  }

  @Test("Who observes incidents hears of one from before")
  func observed() async throws {
    var lives = try Lives("log")
    defer { lives.remove() }
    try await lives.run(9, images: [4, 9])
    try lives.put(Self.with(lives.images[0], Self.mark(lives.images[1])))
    let backend = try Self.open("log", lives.path)
    let calls = Mutex(0)
    func observe() { backend.observeIncidents { calls.withLock { $0 += 1 } } }
    observe()
    observe()
    #expect(calls.withLock { $0 } == 1)
    try await backend.close()
  }
}
