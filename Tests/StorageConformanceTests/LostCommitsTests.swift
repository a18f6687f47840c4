import ConiferKeyValue
import ConiferLeafStore
import ConiferLog
import ConiferTree
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

/// A store that lacks durable commits goes on, whatever else is damaged, and gives no number twice.
@Suite struct LostCommitsTests {
  private typealias Lives = SyncMarkTests.Lives

  /// The files of a log with four writes beside the mark of one with nine.
  private func shortened(_ lives: inout Lives) async throws {
    try await lives.run(9, images: [4, 9])
    try lives.put(SyncMarkTests.with(lives.images[0], SyncMarkTests.mark(lives.images[1])))
  }

  /// A record that is damaged besides.
  enum Damaged: CaseIterable {
    /// The counts of the store's own records.
    case usage
    /// The order of a tree, which a later version knows.
    case order
    case tree
    /// The totals of another lane.
    case lane
    case floor
    case query
    case number

    func batch(_ other: TreeID) -> Batch {
      var batch = Batch()
      func put(_ space: Space, _ key: [UInt8], _ payload: [UInt8]? = nil) {
        let value = payload.map { Record.seal(space, key, $0) } ?? [1, 2, 3]
        batch.put(space, key, value)
      }
      let prefix = StoreKey.prefix(other)
      switch self {
      case .usage: put(Spaces.usage, StoreKey.prefix(TreeID(rawValue: 0)))
      case .order: put(Spaces.system, Trees.infoKey(other), [99, 1, 0x78])
      case .tree: put(Spaces.system, Trees.infoKey(other))
      case .lane: put(Spaces.queue, QueueReader.prefix(Lane(tree: other)) + [0xFF])
      case .floor: put(Spaces.system, SystemKey.queueFloor.bytes)
      case .query: put(Spaces.queries, prefix + [0xFF])
      case .number: put(Spaces.usage, StoreCommit.key)
      }
      return batch
    }
  }

  @Test(
    "Lost commits are told although another record is damaged, and other lanes go on above them",
    arguments: Damaged.allCases)
  func damaged(_ what: Damaged) async throws {
    var lives = try Lives("log")
    defer { lives.remove() }
    let path = lives.path
    var other = TreeID(rawValue: 0)
    try await lives.run(9, images: [4, 9]) { backend, edits, number in
      if number == 1 {
        other = try await backend.tree(named: "other")
        _ = try await backend.commit(
          [
            .enqueue(Lane(tree: other), .set("a", 1)),
            .saveQuery(TrackedQuery(tree: other, path: "a", isComplete: true)),
          ], .power)
      }
      _ = try await backend.commit(edits, .power)
    }
    try lives.put(lives.images[0].filter { $0.name != SyncMarkFile.name })
    let store = try LogStore(at: path)
    _ = try store.apply(what.batch(other), .power)
    try store.close()
    try lives.put(SyncMarkTests.with(lives.files, SyncMarkTests.mark(lives.images[1])))
    for round in 1...2 {
      let backend = try SyncMarkTests.open("log", path)
      let main = Lane(tree: try #require(Damaged.main(backend)))
      let next = try await backend.commit([.enqueue(main, .set("b", 1))], .power).writes[0]
      #expect(next.rawValue > 9, "\(what)")
      let told = try backend.read { (view) throws(StoreError) in try view.incidents() }.filter {
        LostCommits.count($0) != nil || LostCommits.isUnknown($0)
      }
      #expect(told.count == 1, "\(what), \(round): \(told)")
      #expect(told.first.flatMap { LostCommits.count($0) } == (what == .number ? nil : 5))
      try await backend.close()
    }
  }

  @Test("A lane goes on above its lost numbers however many they are, and above an earlier floor")
  func far() async throws {
    for floor in [0, 1 << 40] as [UInt64] {
      var lives = try Lives("log")
      defer { lives.remove() }
      var last = WriteID(rawValue: 0)
      try await lives.run(3, images: [1, 3]) { backend, edits, number in
        let lane = Lane(tree: try await backend.tree(named: "main"), identity: "ann")
        switch number {
        case 1:
          if floor > 0 {
            _ = try await backend.commit([.raiseQueueFloor(WriteID(rawValue: floor))], .power)
          }
          // The lane has totals, and gave no number yet.
          _ = try await backend.commit([.purge(lane)], .power)
        default:
          _ = try await backend.commit(
            [.reserveWriteIDs(lane, through: WriteID(rawValue: floor + 1 << 30))], .power)
          last = try await backend.commit([.enqueue(lane, .set("a", 1))], .power).writes[0]
        }
      }
      try lives.put(SyncMarkTests.with(lives.images[0], SyncMarkTests.mark(lives.images[1])))
      try await lives.read { backend in
        let lane = Lane(tree: try await backend.tree(named: "main"), identity: "ann")
        let next = try await backend.commit([.enqueue(lane, .set("b", 1))], .power).writes[0]
        #expect(next > last && last.rawValue > floor)
      }
    }
  }

  @Test("A query gets no number of a lost one")
  func queries() async throws {
    var lives = try Lives("log")
    defer { lives.remove() }
    var last = QueryID(rawValue: 0)
    try await lives.run(2, images: [1, 2]) { backend, _, number in
      let tree = try await backend.tree(named: "main")
      last = try await backend.commit(
        [.saveQuery(TrackedQuery(tree: tree, path: Path("q\(number)")))], .power
      ).queries[0]
    }
    try lives.put(SyncMarkTests.with(lives.images[0], SyncMarkTests.mark(lives.images[1])))
    try await lives.read { backend in
      let tree = try await backend.tree(named: "main")
      let next = try await backend.commit(
        [.saveQuery(TrackedQuery(tree: tree, path: "new"))], .power
      ).queries[0]
      #expect(next > last)
    }
  }

  @Test("What is done between two commits counts as one", arguments: [false, true])
  func between(isLost: Bool) async throws {
    var lives = try Lives("log")
    defer { lives.remove() }
    try await lives.run(2, images: [2])
    try lives.put(lives.images[0])
    let backend = try #require(
      try SyncMarkTests.open("log", lives.path) as? PackedBackend<LogStore>)
    let before = lives.files
    let number = try #require(lives.mark).number
    let row: Batch = {
      var batch = Batch()
      batch.put(Spaces.metadata, StoreKey.prefix(TreeID(rawValue: 1)) + [0x78], [1])
      return batch
    }()
    try await backend.withStore { (store) throws(StoreError) in _ = try store.apply(row, .power) }
    let mark = try #require(lives.mark)
    #expect(mark.number == number + 1)
    let after = lives.files
    try await backend.close()
    try lives.put(isLost ? SyncMarkTests.with(before, mark) : after)
    let found = try await lives.read()
    #expect(found.lost == (isLost ? 1 : nil), "\(found)")
  }

  @Test(
    "Commits of another owner are seen also when they have no number", arguments: [false, true])
  func unnumbered(isBlind: Bool) async throws {
    let lives = try Lives("log")
    defer { lives.remove() }
    func open() throws -> PackedBackend<LogStore> {
      try PackedBackend(
        LogStore(at: lives.path), name: "log", options: SyncMarkTests.logOptions(lives.path))
    }
    let first = try open()
    let tree = try await first.tree(named: "main")
    _ = try await first.commit([.overwrite(tree, "a", 1)], .power)
    for round in 1...3 {
      try await first.suspend()
      // Nobody had it.
      #expect(try await !first.resumeNotingChanges(), "round \(round)")
      try await first.suspend()
      let second = try open()
      if isBlind {
        let path = lives.path
        try await second.run { (engine) throws(StoreError) in
          let file = SyncMarkFile(in: path) { _, _ in
            errno = EMFILE
            return -1
          }
          engine.writer.synced = SyncedCommits(engine.writer.store.traits, file)
          try engine.writer.read { (view) throws(StoreError) in
            _ = try engine.writer.synced.begin(view, isNew: false)
          }
        }
      }
      for number in 1...3 {
        _ = try await second.commit([.overwrite(tree, "b", Node(.integer(Int64(round + number))))])
      }
      #expect(try second.verify().isSound)
      try await second.close()
      #expect(try await first.resumeNotingChanges(), "round \(round)")
    }
    #expect(try first.verify().isSound)
    try await first.close()
    guard isBlind else { return }
    // A damaged sign is replaced.
    let store = try LogStore(at: lives.path)
    var batch = Batch()
    batch.put(Spaces.usage, StoreState.signKey, [1, 2, 3])
    _ = try store.apply(batch, .power)
    try store.close()
    let again = try open()
    #expect(try !again.verify().isSound)
    let place = StoreError.Place(space: Spaces.usage.id, key: StoreState.signKey)
    try await again.run { (engine) throws(StoreError) in try engine.repairer.repair(place) }
    #expect(try again.verify().isSound)
    try await again.close()
  }

  @Test("A mark that cannot be read stays, and so does what it shows")
  func unreadable() async throws {
    var lives = try Lives("log")
    defer { lives.remove() }
    try await shortened(&lives)
    let mark = try #require(lives.mark)
    let store = try LogStore(at: lives.path)
    let view = try store.view()
    defer {
      view.close()
      try? store.close()
    }
    for number in [EACCES, EIO, EMFILE] {
      let file = SyncMarkFile(in: lives.path) { _, _ in
        errno = number
        return -1
      }
      var synced = SyncedCommits(store.traits, file)
      // Only what lasts is told: a read that fails once is no damage.
      switch try synced.begin(view, isNew: false) {
      case .unreadable(_, let cause): #expect(cause == String(cString: strerror(EACCES)))
      case nil: #expect(number != EACCES)
      case .foreign: Issue.record("\(number) is taken for another's file")
      }
      #expect(synced.next(reportsLoss: false) == nil && synced.loss == nil)
      synced.didCommit(CommitID(rawValue: 1), nil, isDurable: true)
      synced.didRelease()
      #expect(lives.mark == mark)
    }
    var synced = SyncedCommits(store.traits, SyncMarkFile(in: lives.path))
    // Before it is compared, nothing is counted either.
    #expect(synced.next(reportsLoss: false) == nil && synced.isUnread)
    #expect(try synced.begin(view, isNew: false) == nil)
    #expect(synced.loss?.count == 5)
  }

  @Test("A salvage tells of durable commits that a store lacks")
  func salvaged() async throws {
    var lives = try Lives("log")
    defer { lives.remove() }
    try await shortened(&lives)
    for isWhole in [false, true] {
      if isWhole { try lives.put(lives.images[1]) }
      let target = lives.directory + "/new\(isWhole)"
      let salvager = try Salvager(StorageConfiguration.log(at: lives.path))
      let report = try await salvager.run(
        lives.path, in: SalvageDirectory(lives.directory + "/work\(isWhole)"),
        into: .log(at: target))
      #expect(report.isWhole == isWhole, "\(report)")
      let lost = report.lost.filter { $0.words == LostCommits.words(5) }
      #expect(lost.count == (isWhole ? 0 : 1), "\(report.lost)")
      let backend = try SyncMarkTests.open("log", target)
      let next = try await SyncMarkTests().enqueue(backend).rawValue
      #expect(isWhole ? next == 10 : next > 9)
      try await backend.close()
    }
  }
}

extension LostCommitsTests.Damaged {
  /// The tree that is not damaged.
  static func main(_ backend: any StorageBackend) -> TreeID? {
    // The list of all trees may be damaged: this one was made first.
    try? backend.read { (view) throws(StoreError) in
      _ = try view.node(TreeID(rawValue: 1), .root)
      return TreeID(rawValue: 1)
    }
  }
}
