import ConiferDocument
import ConiferKeyValue
import ConiferLog
import ConiferStorage
import ConiferTree
import TestSupport
import Testing

@testable import ConiferTool

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

@Suite(.enabled(if: Repository.tool != nil, "The built tool is not beside the tests."))
struct MigrateTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("Everything comes over, and the source is as it was", arguments: pairs(persistentBackends))
  func faithful(pair: [String]) async throws {
    let (from, to) = (sandbox.url(pair[0], "from"), sandbox.url(pair[1], "to"))
    try await sandbox.fill(from)
    let (files, digest) = (try sandbox.files("from"), try await sandbox.digest(from))
    let closed = try sandbox.files("from")
    // RocksDB writes new files whenever it is opened.
    let isCompared = pair[0] != "rocksdb"
    #expect(files == closed || !isCompared)
    let (status, text) = try sandbox.spawn("migrate", from, to, "--json")
    #expect(status == 0, "\(text)")
    #expect(try Node(json: text).member("digest").text == digest.text)
    let copied = try await sandbox.digest(to)
    #expect(copied == digest, "\(digest.difference(from: copied) ?? "")")
    #expect(try sandbox.files("from") == files || !isCompared)
    #expect(try sandbox.spawn("verify", "--store", to).status == 0)
    // The next numbers go on as they would have in the source.
    let numbers = try await [from, to].asyncMap { url in
      let configuration = try Tool.registry.configuration(url)
      return try await StoreOptions.opened(configuration) { backend in
        let trees = try backend.inspect { try $0.trees() }
        let (main, docs) = (trees[0].id, trees[1].id)
        let receipt = try await backend.commit([
          .enqueue(Lane(tree: main, identity: "ann"), .set("x", 1)),
          .enqueue(Lane(tree: docs, identity: "ben"), .set("x", 1)),
          .saveQuery(TrackedQuery(tree: main, path: "new")),
        ])
        return receipt.writes.map(\.rawValue) + receipt.queries.map(\.rawValue)
      }
    }
    #expect(numbers[0] == numbers[1] && numbers[0][1] == 100, "\(numbers)")
  }

  @Test("Indexes are built when a migration ends", arguments: persistentBackends)
  func indexes(kind: String) async throws {
    let (from, to) = (sandbox.url("log", "from"), sandbox.url(kind, "to"))
    let index = try DocumentIndex("rooms", [.init(FieldPath(["n"])), .init(FieldPath(["m"]))])
    let configuration = try Tool.registry.configuration(
      from, defaults: StorageOptions(budget: nil))
    try await StoreOptions.opened(configuration) { backend in
      let tree = try await backend.tree(named: "documents", order: .documents)
      let documents = try (0..<3000 as Range<Int64>).map { number in
        DocumentEdit.put(
          Document(
            try DocumentPath("rooms/r\(number)"), .found(["n": .integer(number), "m": .null])))
      }
      try await backend.commit([
        .documents(tree, documents + [.setIndexes([index])])
      ])
    }
    let (status, text) = try sandbox.spawn("migrate", from, to)
    #expect(status == 0, "\(text)")
    let target = try Tool.registry.configuration(to)
    let built = try await StoreOptions.opened(target) { backend in
      try backend.inspectDocuments { view in try view.documentIndexes(view.trees()[0].id) }
    }
    #expect(built.map(\.state) == [.ready] && built.map(\.entries) == [3000])
  }

  @Test(
    "A migration that is killed at any time goes on where it was",
    arguments: [["lmdb", "sqlite"], ["sqlite", "log"], ["log", "lmdb"]])
  func killed(pair: [String]) async throws {
    let (from, to) = (sandbox.url(pair[0], "from"), sandbox.url(pair[1], "to"))
    try await sandbox.fill(from, rooms: 80)
    let digest = try await sandbox.digest(from)
    var kills = 0
    for changes in [1, 2, 4, 6, 8, 12, 16, 24] {
      let end = try sandbox.kill(["migrate", from, to], after: changes, in: "to")
      if end == .exited(0) { break }
      // The process that checks the source ends itself soon after the one that asked it to.
      if end == .exited(ToolStatus.busy.rawValue) { continue }
      #expect(end == .killed(signal: ChildProcess.killSignal), "\(end)")
      kills += 1
    }
    #expect(kills > 0)
    var (status, text) = (ToolStatus.busy.rawValue, "")
    try await eventually("The source stays busy.") {
      (status, text) = try sandbox.spawn("migrate", from, to)
      return status != ToolStatus.busy.rawValue
    }
    #expect(status == 0, "\(text)")
    let copied = try await sandbox.digest(to)
    #expect(copied == digest, "\(digest.difference(from: copied) ?? "")")
    #expect(try await sandbox.digest(from) == digest)
    #expect(try sandbox.spawn("verify", "--store", to).status == 0)
  }

  @Test("A source that changed between two runs is copied as it is now")
  func changed() async throws {
    let (from, to) = (sandbox.url("sqlite", "from"), sandbox.url("log", "to"))
    try await sandbox.fill(from)
    // What an interrupted run would have left: all but the end of it, and something too much.
    try await sandbox.fill(to, rooms: 8)
    var marker = MigrationMarker(source: Platform.absolute(sandbox.path("from")))
    marker.place = CopyPosition(phase: .data, tree: "main", path: "rooms/r3")
    try marker.write(sandbox.path("to"))
    let (status, text) = try sandbox.spawn("migrate", from, to)
    #expect(status == 0, "\(text)")
    let (mine, theirs) = (try await sandbox.digest(from), try await sandbox.digest(to))
    #expect(mine == theirs, "\(mine.difference(from: theirs) ?? "")")
  }

  @Test("Nothing is written into a store of somebody else's")
  func refusals() async throws {
    let from = sandbox.url("sqlite", "from")
    try await sandbox.fill(from)
    try await sandbox.fill(sandbox.url("log", "other"))
    let before = try sandbox.files("other")
    #expect(try sandbox.spawn("migrate", from, sandbox.url("log", "other")).status == 78)
    #expect(try sandbox.spawn("migrate", from, sandbox.url("lmdb", "other")).status == 78)
    #expect(try sandbox.spawn("migrate", from, sandbox.url("sqlite", "from")).status == 64)
    #expect(try sandbox.spawn("migrate", from, "memory://").status == 64)
    #expect(try sandbox.spawn("migrate", sandbox.url("log", "no"), from).status == 66)
    #expect(try sandbox.files("other") == before)
    try MigrationMarker(source: "/elsewhere").write(sandbox.path("other"))
    #expect(try sandbox.spawn("migrate", from, sandbox.url("log", "other")).status == 78)
  }

  @Test("The source is set aside when that is confirmed, now or later, and not when it changed")
  func confirmed() async throws {
    let (from, to) = (sandbox.url("lmdb", "from"), sandbox.url("sqlite", "to"))
    try await sandbox.fill(from)
    let digest = try await sandbox.digest(from)
    #expect(try sandbox.spawn("migrate", from, to).status == 0)
    #expect(try sandbox.spawn("migrate", from, to).text.contains("migrated before"))
    #expect(await sandbox.run("set", "/late", "1", store: from).status == .success)
    #expect(try sandbox.spawn("migrate", from, to, "--confirm").status == 78)
    #expect(await sandbox.run("remove", "/late", store: from).status == .success)
    // The target may have been used meanwhile.
    #expect(await sandbox.run("set", "/new", "1", store: to).status == .success)
    #expect(try sandbox.spawn("migrate", from, to, "--confirm").status == 0)
    #expect(!Platform.exists(sandbox.path("from")))
    #expect(try await sandbox.digest(sandbox.url("lmdb", "from.migrated")) == digest)
    #expect(!Platform.exists(sandbox.path("to/migration")))
  }

  @Test("A store never goes into, nor around, the one that it is copied to")
  func within() async throws {
    let from = sandbox.url("sqlite", "from")
    try await sandbox.fill(from)
    let files = try sandbox.files("from")
    for target in ["from/new", "from", "from/../from/x/y"] {
      let (status, text) = try sandbox.spawn(
        "migrate", from, sandbox.url("log", target), "--confirm")
      #expect(status == 64, "\(target): \(text)")
    }
    #expect(try sandbox.files("from") == files)
  }

  @Test("A migration counts as done only while its new store is there")
  func gone() async throws {
    let (from, to) = (sandbox.url("sqlite", "from"), sandbox.url("log", "to"))
    try await sandbox.fill(from)
    #expect(try sandbox.spawn("migrate", from, to).status == 0)
    for name in try Directory.names(in: sandbox.path("to")) where name != "migration" {
      Directory.remove(sandbox.path("to/\(name)"))
    }
    #expect(try sandbox.spawn("migrate", from, to, "--confirm").status == 66)
    #expect(Platform.exists(sandbox.path("from")))
    #expect(await sandbox.run("set", "/other", "1", "--tree", "new", store: to).status == .success)
    #expect(try sandbox.spawn("migrate", from, to, "--confirm").status == 78)
    #expect(Platform.exists(sandbox.path("from")))
  }

  @Test("A damaged source is refused and left as it is")
  func damaged() async throws {
    let from = sandbox.url("log", "from")
    try await sandbox.fill(from)
    for name in try Directory.names(in: sandbox.path("from")) where name.hasSuffix(".table") {
      var bytes = try Platform.contents(sandbox.path("from/\(name)"))
      bytes[200] ^= 1
      _ = try sandbox.file("from/\(name)", bytes)
    }
    for isGone in [false, true] {
      if isGone { Directory.remove(sandbox.path("from/manifest")) }
      let before = try sandbox.files("from")
      #expect(try sandbox.spawn("migrate", from, sandbox.url("sqlite", "to")).status == 76)
      #expect(try sandbox.files("from") == before)
    }
  }

  @Test("A store that a migration has not filled yet is opened by that migration alone")
  func unfinished() async throws {
    let (from, to) = (sandbox.url("sqlite", "from"), sandbox.url("log", "to"))
    try await sandbox.fill(from, rooms: 40)
    // Killed while it copies: there is a store, and it is not whole.
    let end = try sandbox.kill(["migrate", from, to]) {
      !Directory.isMissing(sandbox.path("to/manifest"))
    }
    try #require(end == .killed(signal: ChildProcess.killSignal), "\(end)")
    for arguments in [["set", "/late", "1"], ["get", "/"], ["verify"], ["compact"]] {
      let (status, text) = try sandbox.spawn(arguments + ["--store", to])
      #expect(status == 78, "\(arguments): \(text)")
    }
    let output = await sandbox.run("get", "/", store: to)
    #expect(
      output.status == .foreign && output.notes.contains("conifer migrate"), "\(output.notes)")
    #expect(throws: StoreError.self) {
      try StorageConfiguration.log(at: sandbox.path("to")).open()
    }
    var info = stat()
    #expect(stat(sandbox.path("to/migration"), &info) == 0 && info.st_mode & 0o777 == 0o600)
    #expect(stat(sandbox.path("to/unfinished"), &info) == 0 && info.st_mode & 0o777 == 0o600)
    #expect(try sandbox.spawn("migrate", from, to).status == 0)
    #expect(try sandbox.spawn("set", "/late", "1", "--store", to).status == 0)
    #expect(Directory.isMissing(sandbox.path("to/unfinished")))
  }

  @Test("A migration that was killed before it wrote its marker goes on")
  func marked() async throws {
    let (from, to) = (sandbox.url("sqlite", "from"), sandbox.url("log", "to"))
    #expect(await sandbox.run("set", "/a", "1", store: from).status == .success)
    try await StorageConfiguration.log(at: sandbox.path("to")).open().close()
    let words =
      "conifer migrate copies \(sandbox.path("from")) into it; run that again, it goes on where it was, "
      + "or remove the directory"
    try UnfinishedStore.mark(sandbox.path("to"), [words])
    let (status, text) = try sandbox.spawn("migrate", from, to)
    #expect(status == 0, "\(text)")
    #expect(Directory.isMissing(sandbox.path("to/unfinished")))
    #expect(try await sandbox.digest(to) == sandbox.digest(from))
  }

  @Test("Two that set stores aside at once never take each other's place")
  func aside() async throws {
    for number in 0..<4 { _ = try sandbox.file("placeholder\(number)", "x") }
    var names: Set<String> = []
    for number in 0..<8 {
      try Platform.makeDirectories(sandbox.path("d\(number)"))
      _ = try sandbox.file("d\(number)/own", "\(number)")
    }
    let root = sandbox.directory
    try await withThrowingTaskGroup(of: String.self) { group in
      for number in 0..<8 {
        group.addTask {
          try Directory.moveToFreeName("\(root)/d\(number)", like: "\(root)/old")
        }
      }
      for try await name in group { names.insert(name) }
    }
    #expect(names.count == 8)
    let own = try names.map { try contents("\($0)/own") }
    #expect(Set(own).count == 8)
    // An empty directory of somebody else's is not taken either.
    try Platform.makeDirectories(sandbox.path("empty"))
    #expect(try !Directory.moveWithoutReplacing("\(root)/old", to: "\(root)/empty"))
  }
}

/// All pairs of two different names.
func pairs(_ names: [String]) -> [[String]] {
  names.flatMap { a in names.filter { $0 != a }.map { [a, $0] } }
}

extension Array {
  fileprivate func asyncMap<R>(_ body: (Element) async throws -> R) async rethrows -> [R] {
    var results: [R] = []
    for element in self { results.append(try await body(element)) }
    return results
  }
}
