import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferTree
import TestSupport

@testable import ConiferStorage
@testable import StorageConformance

/// A store that one process owns and another reads, and what its owner does in it.
struct SharedStore: Codable, Sendable {
  enum Kind: String, CaseIterable, Codable, Sendable { case sqlite, lmdb, log }

  let kind: Kind
  let directory: String

  init(_ kind: Kind) throws {
    self.kind = kind
    directory = try System.makeTemporaryDirectory()
  }

  func remove() { System.removeTree(directory) }

  var path: String { directory + "/store" }

  var configuration: StorageConfiguration {
    let options = StorageOptions(budget: StorageOptions.smallestBudget)
    switch kind {
    case .sqlite:
      var sqlite = SQLiteOptions()
      sqlite.checkpointPages = 50
      return .sqlite(at: path, options: options, sqlite: sqlite)
    case .lmdb:
      return .lmdb(
        at: path, options: options, lmdb: LMDBOptions(initialMapSize: 1 << 20, growthFactor: 1.1))
    case .log:
      // Segments end, tables are merged and compaction runs every few commits.
      var log = LogOptions()
      (log.segment, log.tail, log.journal, log.slack) = (32 << 10, 8 << 10, 24 << 10, 32 << 10)
      return .log(at: path, options: options, log: log)
    }
  }

  // MARK: Commits

  static let lanes = ["", "ann"]

  /// What the commit of a number changes, in all groups that a reader sees.
  static func edits(_ tree: TreeID, _ number: Int, _ random: inout SeededRandom) -> [StorageEdit] {
    let stamp = Node(.integer(Int64(number)))
    // Too random to be packed well, so that files and maps grow.
    let words = (0...(number % 90 * 8)).map { _ in String(random.next(), radix: 36) }
    let bulk = Node(.string(words.joined()))
    return [
      .overwrite(tree, "first", stamp),
      .overwrite(tree, Path("rooms/r\(number % 40)"), ["stamp": stamp, "bulk": bulk]),
      .overwrite(tree, Path("gone/g\(number % 7)"), number % 2 == 0 ? .empty : bulk),
      .pin(Pin(tree: tree, path: .root)),
      .purge(Lane(tree: tree, identity: lanes[0])),
      .enqueue(Lane(tree: tree, identity: lanes[0]), .set("first", stamp)),
      .setMetadata(tree, "last", Array("\(number)".utf8)),
      .overwrite(tree, "zuletzt", stamp),
    ]
  }

  /// The number of the commit that a view shows; fails when it shows a part of one.
  static func number(_ view: any StorageView) throws(StoreError) -> Int? {
    guard let tree = try view.trees().first?.id else { return nil }
    guard let text = try view.metadata(tree, "last") else { return nil }
    let number = Int(String(decoding: text, as: UTF8.self)) ?? -1
    let stamp = Node(.integer(Int64(number)))
    let writes = try view.writes(Lane(tree: tree, identity: lanes[0]), after: nil, limit: 9)
    let seen = [
      try view.node(tree, "first"), try view.node(tree, "zuletzt"),
      try view.node(tree, Path("rooms/r\(number % 40)/stamp")),
    ]
    guard seen == [stamp, stamp, stamp], writes.count == 1,
      writes[0].content == .set("first", stamp)
    else {
      throw StoreError(.damaged, "half of commit \(number): \(seen), \(writes)")
    }
    return number
  }

  // MARK: The owner's process

  private var numbers: String { directory + "/acknowledged" }
  private var process: String { directory + "/process" }

  /// The newest commit that the owner was told to be done.
  var acknowledged: Int {
    get throws {
      let text = String(decoding: Scratch.read(numbers), as: UTF8.self)
      // A line that is just being written does not count.
      return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().last
        .flatMap { Int($0) } ?? 0
    }
  }

  /// Owns the store until it is killed: commits, tidies, evicts, suspends, closes and opens.
  func own(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    var backend = try configuration.open()
    let tree = try await backend.tree(named: "main")
    var number = try backend.read { (view) throws(StoreError) in try Self.number(view) } ?? 0
    try System.append("\(Platform.processID)", to: process)
    while true {
      number += 1
      let durability: Durability = random.next() % 4 == 0 ? .power : .process
      _ = try await backend.commit(Self.edits(tree, number, &random), durability)
      try System.append("\(number)", to: numbers)
      switch random.next() % 60 {
      case 0, 1: _ = try await backend.tidy(.milliseconds(5))
      case 2: _ = try await backend.evicting().evict(to: 200 << 10, dryRun: false)
      case 3:
        try await backend.suspend()
        try await backend.resume()
      case 4:
        try await backend.close()
        backend = try configuration.open()
      default: break
      }
    }
  }

  /// Owns the store for some commits, each with so many bytes that stay, and is killed.
  func own(commits: Int, bytes: Int) async throws -> Never {
    var random = SeededRandom(seed: UInt64(commits))
    let backend = try configuration.open()
    let tree = try await backend.tree(named: "main")
    let first = try backend.read { (view) throws(StoreError) in try Self.number(view) } ?? 0
    for number in first + 1...first + commits {
      let words = (0..<(bytes / 12)).map { _ in String(random.next(), radix: 36) }
      let edit = StorageEdit.overwrite(
        tree, Path("large/n\(number)"), Node(.string(words.joined())))
      _ = try await backend.commit(Self.edits(tree, number, &random) + [edit], .process)
    }
    System.killSelf()
  }

  /// Holds a view until it is killed.
  func hold() throws {
    let reader = try configuration.openReader()
    try reader.read { (view) throws(StoreError) in
      _ = try Self.number(view)
      _ = try? System.append("\(Platform.processID)", to: process)
      while true { System.pause() }
    }
  }

  /// The processes that have begun, by their own words.
  var begun: [Int32] {
    get throws { try System.lines(of: process).compactMap { Int32($0) } }
  }

  /// Waits until another process has begun, after so many others.
  func waitUntilBegun(_ earlier: Int) throws {
    // So many that only what hangs reaches it.
    for _ in 0..<30_000 {
      if try begun.count > earlier { return }
      System.pause()
    }
    throw ConformanceFailure("No other process began for five minutes.")
  }

  /// The bytes of the files that only the owner may change.
  var content: [String: Bytes] {
    let makeshift: Set = ["owner", "lock.mdb", "conifer.sqlite-shm"]
    var content: [String: Bytes] = [:]
    for name in Scratch.names(path) where !makeshift.contains(name) {
      let bytes = Scratch.read(path + "/" + name)
      // A reader makes an empty log where there is none.
      if !bytes.isEmpty { content[name] = bytes }
    }
    return content
  }
}
