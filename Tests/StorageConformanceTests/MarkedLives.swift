import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferTree

@testable import ConiferStorage
@testable import StorageConformance

/// Stores with a mark, and the states of their files.
extension SyncMarkTests {
  static func open(
    _ kind: String, _ path: String, _ role: StoreRole = .cache
  ) throws(StoreError) -> any StorageBackend {
    let options = StorageOptions(role: role)
    return switch kind {
    case "lmdb": try StorageConfiguration.lmdb(at: path, options: options).open()
    case "sqlite": try StorageConfiguration.sqlite(at: path, options: options).open()
    default: try StorageConfiguration.log(at: path, options: options).open()
    }
  }

  /// What a test wants to know of a store.
  struct Found {
    var reports: [Incident] = []
    var writes = 0
    var lost: UInt64? { reports.count == 1 ? LostCommits.count(reports[0]) : nil }
  }

  static func found(_ backend: any StorageBackend) throws -> Found {
    try backend.read { (view) throws(StoreError) in
      var found = Found(reports: try view.incidents())
      for tree in try view.trees() {
        found.writes += try view.writes(Lane(tree: tree.id), after: nil, limit: 100).count
      }
      return found
    }
  }

  static func mark(_ files: [StoreFile]) -> StoreCommit? {
    files.first { $0.name == SyncMarkFile.name }.flatMap { SyncMark.commit($0.bytes) }
  }

  static func with(_ files: [StoreFile], _ mark: [UInt8]?) -> [StoreFile] {
    files.filter { $0.name != SyncMarkFile.name }
      + (mark.map { [StoreFile(name: SyncMarkFile.name, bytes: $0)] } ?? [])
  }

  static func with(_ files: [StoreFile], _ mark: StoreCommit?) -> [StoreFile] {
    with(files, mark.map { SyncMark.bytes($0) })
  }

  /// A directory with a store, and the states of its files, as a killed process would have left them.
  struct Lives {
    let kind: String
    let directory: String
    private(set) var images: [[StoreFile]] = []

    init(_ kind: String) throws {
      self.kind = kind
      directory = try System.makeTemporaryDirectory()
    }

    var path: String { directory + "/store" }
    var files: [StoreFile] { StoreFile.all(in: path) }
    var mark: StoreCommit? { SyncMarkTests.mark(files) }

    /// Commits writes to a new store, and keeps an image after some of them.
    mutating func run(
      _ count: Int, images at: Set<Int>,
      commit: (any StorageBackend, [StorageEdit], Int) async throws -> Void = { backend, edits, _ in
        _ = try await backend.commit(edits, .power)
      }
    ) async throws {
      let backend = try SyncMarkTests.open(kind, path)
      let lane = Lane(tree: try await backend.tree(named: "main"))
      for number in 1...count {
        try await commit(
          backend, [.enqueue(lane, .set("a", Node(.integer(Int64(number)))))], number)
        if at.contains(number) { images.append(files) }
      }
      try await backend.close()
    }

    /// Puts files in the store's place.
    func put(_ files: [StoreFile]) throws {
      try StoreFile.write(files, to: path, Mutation(file: "", position: 0, kind: .cut))
    }

    /// Opens the store, looks, does something, and closes it.
    @discardableResult
    func read(
      _ role: StoreRole = .cache, _ body: (any StorageBackend) async throws -> Void = { _ in }
    ) async throws -> Found {
      let backend = try SyncMarkTests.open(kind, path, role)
      let found = try SyncMarkTests.found(backend)
      try await body(backend)
      try await backend.close()
      return found
    }

    func remove() { System.removeTree(directory) }
  }

  static func logOptions(_ path: String) -> StorageOptions {
    var options = StorageOptions()
    options.markDirectory = path
    return options
  }

  func enqueue(_ backend: any StorageBackend, _ durability: Durability = .power)
    async throws -> WriteID
  {
    let lane = Lane(tree: try await backend.tree(named: "main"))
    return try await backend.commit([.enqueue(lane, .set("a", 1))], durability).writes[0]
  }
}
