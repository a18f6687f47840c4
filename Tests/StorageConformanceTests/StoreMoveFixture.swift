import ConiferDocument
import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferTree
import Testing

@testable import ConiferStorage
@testable import StorageConformance

/// The two storages of a move in a directory of their own, and what the earlier one holds.
struct StoreMoveFixture {
  static let kinds = ["lmdb", "sqlite", "log"]
  static let pairs = kinds.flatMap { from in kinds.filter { $0 != from }.map { [from, $0] } }
  /// Each kind once on either side.
  static let circle = [["lmdb", "sqlite"], ["sqlite", "log"], ["log", "lmdb"]]

  let base: String
  let pair: [String]
  /// Whether both directories have files of the app, too.
  private(set) var isShared = false

  var from: String { base + "/old" }
  var to: String { base + "/new" }
  var source: StorageConfiguration { Self.storage(pair[0], from) }
  var target: StorageConfiguration { Self.storage(pair[1], to) }
  var migration: StorageMigration { StorageMigration(from: source, to: target) }
  var names: [String] { (try? Directory.names(in: base)) ?? [] }

  init(_ pair: [String], base: String? = nil) throws {
    self.pair = pair
    self.base = try base ?? System.makeTemporaryDirectory()
  }

  /// Puts files of the app into both directories.
  mutating func share() throws {
    isShared = true
    for directory in [from, to] {
      try ConiferStorage.Platform.makeDirectory(directory + "/kept")
      for name in Self.letters { try Directory.put([1], at: "\(directory)/\(name)") }
    }
  }

  /// A storage within the earlier directory would have such files.
  private static let letters = [".hidden", "conifer.txt", "kept/conifer.sqlite", "kept/data.mdb"]

  /// How a move fails; nil when it does not.
  func code() async -> StoreError.Code? { await Self.code(migration) }

  static func code(_ migration: StorageMigration) async -> StoreError.Code? {
    do throws(StoreError) {
      _ = try await migration.run()
      return nil
    } catch { return error.code }
  }

  /// Expects that the new storage holds all, and that of the earlier one nothing is left.
  func expectWhole(_ digest: StoreDigest, _ words: String = "") async throws {
    try expectOnly(["new"], words)
    #expect(Directory.isMissing(to + "/" + UnfinishedStore.ended), "\(words)")
    let copied = try await Self.digest(target)
    #expect(copied == digest, "\(words): \(digest.difference(from: copied) ?? "")")
  }

  /// Expects directories in which something of a storage is, and all files of the app.
  func expectOnly(_ stores: [String], _ words: String = "") throws {
    guard isShared else { return #expect(names == stores, "\(words)") }
    #expect(names == ["new", "old"], "\(words)")
    for directory in [from, to] {
      for name in Self.letters {
        #expect(
          ConiferStorage.Platform.read("\(directory)/\(name)", limit: 9) == [1],
          "\(directory)/\(name) \(words)")
      }
      let isStore = stores.contains(String(directory.suffix(3)))
      let found = try Directory.names(in: directory)
      #expect(
        isStore ? found.count > 3 : found == [".hidden", "conifer.txt", "kept"],
        "\(found) \(words)")
    }
  }

  func remove() { System.removeTree(base) }

  static func storage(_ kind: String, _ directory: String) -> StorageConfiguration {
    let options = StorageOptions(budget: nil, compression: .none)
    switch kind {
    case "lmdb": return .lmdb(at: directory, options: options)
    case "sqlite": return .sqlite(at: directory, options: options)
    default: return .log(at: directory, options: options)
    }
  }

  static func digest(_ storage: StorageConfiguration) async throws -> StoreDigest {
    let backend = try storage.open()
    do {
      let digest = try await StoreDigest.of(backend)
      try await backend.close()
      return digest
    } catch {
      try? await backend.close()
      throw error
    }
  }

  /// Puts everything that a storage keeps into the earlier one: two databases of rooms and one of documents, and writes in
  /// every state.
  func fill(rooms: Int = 3) async throws {
    let backend = try source.open()
    let tree = try await backend.tree(named: "main")
    let other = try await backend.tree(named: "other", order: .utf8)
    try await backend.commit(
      (0..<rooms).flatMap { number -> [StorageEdit] in
        let room = Node(
          children: (0..<60).map { message in
            (Key("m\(message)"), Node(.string("message \(message) of room \(number), with words")))
          }, priority: Priority(Int64(number)))
        let path = Path("rooms/r\(number)")
        return [
          .overwrite(tree, path, room),
          .saveQuery(
            TrackedQuery(
              tree: tree, path: path, isComplete: true, lastUse: UInt64(number + 3),
              resumeToken: [1])),
        ]
      })
    try await backend.commit([
      .overwrite(other, "é/\u{10000}", 1), .overwrite(other, "é/\u{FFFF}", 2.5),
      .pin(Pin(tree: tree, path: "rooms/r1")), .setMetadata(tree, "cursor", [1, 2, 3]),
      .raiseQueueFloor(WriteID(rawValue: 5)),
    ])
    for lane in [Lane(tree: tree, identity: "ann"), Lane(tree: other, identity: "")] {
      var ids: [WriteID] = []
      for number in 0..<8 {
        ids += try await backend.commit([
          .enqueue(lane, .set(Path("rooms/r\(number)/m1"), Node(.string("write \(number)"))))
        ]).writes
      }
      try await backend.commit([
        .finish(lane, ids[0], .acknowledged),
        .setState(lane, ids[1], .sent),
        .setState(lane, ids[2], .rejected(reason: "no")),
        .finish(lane, ids[3], .superseded(by: ids[4])),
        .setState(lane, ids[5], .outcomeUnknown),
        .finish(lane, ids[6], .discarded),
      ])
    }
    try await backend.commit([
      .report(Incident(kind: .writeSetAside, tree: tree, place: "write 9 of \"ann\"", bytes: [9]))
    ])
    try await fillDocuments(backend)
    try await backend.close()
  }

  private func fillDocuments(_ backend: any StorageBackend) async throws {
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree, identity: "ann")
    let documents = try (0..<40).map { number in
      Document(
        try DocumentPath("rooms/d\(number)"),
        number % 9 == 1 ? .missing : .found(["n": .integer(Int64(number))]),
        version: try Timestamp(seconds: Int64(number)), readTime: try Timestamp(seconds: 400))
    }
    try await backend.commit([.documents(tree, documents.map { .put($0) })])
    let rooms = try CollectionPath("rooms")
    let target = DocumentQuery(.collection(rooms), in: DatabaseID(project: "p")).target
    let query = try await backend.commit([
      .saveQuery(TrackedQuery(lane, target, isComplete: true, resumeToken: [1]))
    ]).queries[0]
    try await backend.commit([.documents(tree, [.setMatches(query, documents.map(\.path))])])
  }

  /// What a write of the earlier storage is, in every state.
  static func states(_ storage: StorageConfiguration) async throws -> [String] {
    let backend = try storage.open()
    let states = try backend.inspect { view in
      try view.trees().flatMap { try view.lanes($0.id) }.flatMap { lane in
        try view.entries(lane, after: nil, limit: 100).map { "\($0.id.rawValue) \($0.state)" }
          + view.rejectedEntries(lane, after: nil, limit: 100).map {
            "\($0.id.rawValue) \($0.state)"
          }
          + view.finishedWrites(lane, after: nil, limit: 100).map {
            "\($0.id.rawValue) \($0.outcome)"
          }
      }
    }
    try await backend.close()
    return states
  }

  /// How many file operations a whole move takes.
  func operations() async throws -> Int {
    let copy = try copied()
    defer { copy.remove() }
    let session = try IOSession.fail(copy.base, at: nil, with: .kill)
    defer { session.end() }
    _ = try await copy.migration.run()
    return session.operationCount
  }

  /// The same earlier storage in another directory.
  func copied() throws -> StoreMoveFixture {
    var copy = try StoreMoveFixture(pair)
    try Directory.copyFiles(from, to: copy.from, leaving: [])
    if isShared { try copy.share() }
    return copy
  }

  /// The same, under another path.
  func renamed() throws -> StoreMoveFixture {
    let other = base + "-later"
    try Directory.move(base, to: other)
    var copy = try StoreMoveFixture(pair, base: other)
    copy.isShared = isShared
    return copy
  }
}
