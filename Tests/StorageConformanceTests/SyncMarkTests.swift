import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferTree
import Testing

@testable import ConiferStorage
@testable import StorageConformance

/// What was acknowledged as durable and is not in the store's files is reported, and nothing else is.
@Suite struct SyncMarkTests {
  private static let kinds = ["lmdb", "sqlite", "log"]

  private static func open(
    _ kind: String, _ path: String, _ role: StoreRole = .cache
  ) throws(StoreError) -> any StorageBackend {
    let options = StorageOptions(role: role)
    return switch kind {
    case "lmdb": try StorageConfiguration.lmdb(at: path, options: options).open()
    case "sqlite": try StorageConfiguration.sqlite(at: path, options: options).open()
    default: try StorageConfiguration.log(at: path, options: options).open()
    }
  }

  /// A directory with the states of a store's files, as a killed process would have left them.
  private struct Lives {
    let kind: String
    let directory: String
    private(set) var images: [[StoreFile]] = []

    init(_ kind: String) throws {
      self.kind = kind
      directory = try System.makeTemporaryDirectory()
    }

    var path: String { directory + "/store" }

    /// Commits writes to a new store, and keeps an image after some of them.
    mutating func run(
      _ count: Int, images at: Set<Int>,
      commit: (any StorageBackend, [StorageEdit], Int) async throws -> Void
    ) async throws {
      let backend = try SyncMarkTests.open(kind, path)
      let lane = Lane(tree: try await backend.tree(named: "main"))
      for number in 1...count {
        try await commit(
          backend, [.enqueue(lane, .set("a", Node(.integer(Int64(number)))))], number)
        if at.contains(number) { images.append(StoreFile.all(in: path)) }
      }
      try await backend.close()
    }

    /// Puts files in the store's place.
    func put(_ files: [StoreFile]) throws {
      try StoreFile.write(files, to: path, Mutation(file: "", position: 0, kind: .cut))
    }

    /// The reports of the store, and how many writes wait in it.
    func read(_ role: StoreRole = .cache) async throws -> (reports: [String], writes: Int) {
      let backend = try SyncMarkTests.open(kind, path, role)
      let found = try backend.read { (view) throws(StoreError) in
        let tree = try view.trees().first?.id
        let writes = try tree.map { (tree) throws(StoreError) in
          try view.writes(Lane(tree: tree), after: nil, limit: 100).count
        }
        return (reports: try view.incidents().map(\.place), writes: writes ?? 0)
      }
      try await backend.close()
      return found
    }

    func remove() { System.removeTree(directory) }
  }

  private func mark(_ files: [StoreFile]) -> SyncMark? {
    files.first { $0.name == SyncMarkFile.name }.flatMap { SyncMark($0.bytes) }
  }

  private func with(_ files: [StoreFile], _ mark: [UInt8]?) -> [StoreFile] {
    files.filter { $0.name != SyncMarkFile.name }
      + (mark.map { [StoreFile(name: SyncMarkFile.name, bytes: $0)] } ?? [])
  }

  @Test(
    "Durable commits that are missing are reported once, with their number",
    arguments: kinds, [StoreRole.cache, .authority])
  func missing(kind: String, role: StoreRole) async throws {
    var lives = try Lives(kind)
    defer { lives.remove() }
    try await lives.run(9, images: [4, 9]) { backend, edits, _ in
      _ = try await backend.commit(edits, .power)
    }
    let newest = try #require(mark(lives.images[1]))
    #expect(try #require(mark(lives.images[0])).commit == newest.commit - 5)
    try lives.put(lives.images[1])
    let whole = try await lives.read(role)
    #expect(whole.reports == [] && whole.writes == 9)
    try lives.put(with(lives.images[0], newest.bytes))
    for _ in 1...3 {
      let (reports, writes) = try await lives.read(role)
      #expect(writes == 4)
      #expect(reports.count == 1 && reports[0].contains(": 5 of its newest commits"), "\(reports)")
    }
  }

  @Test("A log that was cut in half after a kill is reported", arguments: ["sqlite", "log"])
  func cut(kind: String) async throws {
    var lives = try Lives(kind)
    defer { lives.remove() }
    try await lives.run(20, images: [20]) { backend, edits, _ in
      _ = try await backend.commit(edits, .power)
    }
    let log = try #require(
      lives.images[0].filter { $0.name.hasSuffix("-wal") || $0.name.hasSuffix(".segment") }
        .max { $0.used < $1.used })
    try StoreFile.write(
      lives.images[0], to: lives.path,
      Mutation(file: log.name, position: log.used / 2, kind: .cut))
    let (reports, writes) = try await lives.read()
    #expect(writes < 20)
    #expect(reports.count == 1 && reports[0].contains(": \(20 - writes) of its"), "\(reports)")
  }

  @Test(
    "What a later sync made durable counts, and nothing that no sync has covered", arguments: kinds)
  func hardened(kind: String) async throws {
    var lives = try Lives(kind)
    defer { lives.remove() }
    var third: CommitID?
    try await lives.run(9, images: [1, 8, 9]) { backend, edits, number in
      let commit = try await backend.commit(edits, number == 1 ? .power : .process).commit
      if number == 3 { third = commit }
      if number == 9, let third { try await backend.harden(third) }
    }
    let marks = try lives.images.map { try #require(mark($0)).commit }
    #expect(marks[0] == marks[1])
    #expect(marks[2] == marks[0] + 2)
    // The first image lacks two commits that were durable then.
    try lives.put(with(lives.images[0], mark(lives.images[2])?.bytes))
    let (reports, writes) = try await lives.read()
    #expect(writes == 1)
    #expect(reports.count == 1 && reports[0].contains(": 2 of its newest commits"), "\(reports)")
  }

  @Test("A mark that is gone, torn, or another store's says nothing", arguments: kinds)
  func foreign(kind: String) async throws {
    var lives = try Lives(kind)
    var other = try Lives(kind)
    defer {
      lives.remove()
      other.remove()
    }
    try await lives.run(4, images: [2, 4]) { backend, edits, _ in
      _ = try await backend.commit(edits, .power)
    }
    try await other.run(9, images: [9]) { backend, edits, _ in
      _ = try await backend.commit(edits, .power)
    }
    let newest = try #require(mark(lives.images[1])).bytes
    var marks: [[UInt8]?] = [nil, [], mark(other.images[0])?.bytes, newest + [0]]
    for length in [1, 8, 24, 32, 39] { marks.append(Array(newest[..<length])) }
    for place in newest.indices {
      var changed = newest
      changed[place] ^= 1 << UInt8(place % 8)
      marks.append(changed)
    }
    for mark in marks {
      try lives.put(with(lives.images[0], mark))
      let (reports, writes) = try await lives.read()
      #expect(reports == [] && writes == 2)
    }
    // Such a mark is replaced by the next durable commit.
    let backend = try Self.open(kind, lives.path)
    let lane = Lane(tree: try await backend.tree(named: "main"))
    _ = try await backend.commit([.enqueue(lane, .set("a", 1))], .power)
    #expect(mark(StoreFile.all(in: lives.path)) != nil)
    try await backend.suspend()
    #expect(System.openFiles(under: lives.path) == [])
    try await backend.resume()
    try await backend.close()
    let (reports, writes) = try await lives.read()
    #expect(reports == [] && writes == 3)
  }

  @Test("A wiped tree takes the newest number along, and nothing is reported", arguments: kinds)
  func wiped(kind: String) async throws {
    var lives = try Lives(kind)
    defer { lives.remove() }
    try await lives.run(3, images: [3]) { backend, edits, number in
      _ = try await backend.commit(edits, .power)
      guard number == 3 else { return }
      let tree = try await backend.tree(named: "main")
      _ = try await backend.commit([.wipe(tree)], .process)
    }
    try lives.put(lives.images[0])
    #expect(try await lives.read().reports == [])
  }
}
