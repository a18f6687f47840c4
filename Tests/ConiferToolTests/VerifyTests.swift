import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

@Suite(.enabled(if: Repository.tool != nil, "The built tool is not beside the tests."))
struct VerifyTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("A sound store is told to be, and none of its bytes changes", arguments: persistentBackends)
  func sound(backend: String) async throws {
    let url = sandbox.url(backend)
    try await sandbox.fill(url)
    let before = try sandbox.files("store")
    for arguments in [["verify", "--store", url], ["verify", "--copy", "--store", url]] {
      let (status, text) = try sandbox.spawn(arguments)
      #expect(status == 0, "\(text)")
      #expect(text.hasSuffix("sound"))
      // RocksDB writes new files whenever it is opened.
      #expect(try sandbox.files("store") == before || backend == "rocksdb")
    }
    let (status, json) = try sandbox.spawn("verify", "--json", "--store", url)
    let report = try Node(json: json)
    #expect(status == 0 && report.member("sound").leaf == .bool(true))
    #expect(report.member("counts").member("writes").count == 77)
    #expect(report.member("counts").member("trees").count == 4)
    #expect(report.member("findings").isEmpty && report.member("death").isEmpty)
  }

  @Test(
    "A copy is checked of a store that was not closed, and its files stay as they are",
    arguments: persistentBackends)
  func copy(backend: String) async throws {
    let url = sandbox.url(backend)
    try await sandbox.opened(backend) { store in
      try await store.commit([.overwrite(store.tree, "a/b", 1)], .process)
      // As a killed process would leave them.
      try Directory.copyFiles(
        sandbox.path("store"), to: sandbox.path("left"), leaving: StoreVerification.locks)
    }
    let before = try sandbox.files("left")
    let (status, text) = try sandbox.spawn(
      "verify", "--copy", "--store", sandbox.url(backend, "left"))
    #expect(status == 0, "\(text)")
    #expect(try sandbox.files("left") == before)
    #expect(url != sandbox.url(backend, "left"))
  }

  @Test(
    "Commits that are missing are told when the store is opened, and whenever it is looked at",
    arguments: knownBackends)
  func missing(backend: String) async throws {
    try await sandbox.opened(backend) { store in
      func commit() async throws {
        try await store.commit(
          [.overwrite(store.tree, "a", .empty), .overwrite(store.tree, "a", 1)], .power)
        try await store.commit([.overwrite(store.tree, "a", 2)], .power)
      }
      try await commit()
      // As a killed process would leave them.
      try Directory.copyFiles(
        sandbox.path("store"), to: sandbox.path("left"), leaving: StoreVerification.locks)
      for _ in 0..<2 { try await commit() }
    }
    let mark = try #require(try sandbox.files("store")["synced"])
    _ = try sandbox.file("left/synced", mark)
    for name in ["verified", "salvaged", "migrated"] {
      try Directory.copyFiles(sandbox.path("left"), to: sandbox.path(name), leaving: [])
    }
    let url = sandbox.url(backend, "left")
    let words = "newest durable commits are lost"
    let first = await sandbox.run("get", "a", "--store", url)
    #expect(first.status == .success && first.notes.contains(words), "\(first)")
    let second = await sandbox.run("get", "a", "--store", url)
    #expect(!second.notes.contains(words), "\(second)")
    #expect(await sandbox.run("stats", "--store", url).text.contains(words))
    for format in [[], ["--json"]] {
      let (status, text) = try sandbox.spawn(["verify", "--store", url] + format)
      #expect(status == 0 && text.contains(words), "\(text)")
      #expect(!text.contains("reported when it was opened"))
    }
    let verified = try sandbox.spawn("verify", "--store", sandbox.url(backend, "verified"))
    #expect(verified.text.contains("reported when it was opened: "), "\(verified)")
    let salvaged = try sandbox.spawn(
      "salvage", sandbox.url(backend, "salvaged"), sandbox.url(backend, "new"))
    #expect(salvaged.status == 76 && salvaged.text.contains(words), "\(salvaged)")
    let migrated = try sandbox.spawn(
      "migrate", sandbox.url(backend, "migrated"), sandbox.url(backend, "copy"))
    #expect(migrated.status == 0, "\(migrated)")
    let stats = await sandbox.run("stats", "--store", sandbox.url(backend, "copy"))
    #expect(stats.text.contains(words), "\(stats)")
  }

  @Test("Damage ends with its own status, and the place is told", arguments: knownBackends)
  func damaged(backend: String) async throws {
    let url = sandbox.url(backend)
    try await sandbox.fill(url)
    var files = try sandbox.files("store")
    let needle = Array("cursor".utf8)
    var isChanged = false
    for (name, bytes) in files {
      // The name of the metadata, wherever an engine has a copy of it.
      for at in 0..<max(0, bytes.count - 16)
      where bytes[at] == needle[0] && Array(bytes[at..<(at + 6)]) == needle {
        files[name]?[at + 2] ^= 0x01
        isChanged = true
      }
      _ = try sandbox.file("store/\(name)", files[name] ?? [])
    }
    #expect(isChanged)
    let before = try sandbox.files("store")
    let (status, text) = try sandbox.spawn("verify", "--json", "--store", url)
    #expect(status == ToolStatus.damaged.rawValue, "\(text)")
    let report = try Node(json: text)
    #expect(report.member("sound").leaf == .bool(false))
    #expect((report.member("found").count ?? 0) > 0)
    #expect(try sandbox.files("store") == before)
  }

  @Test("What cannot be opened has the status of its reason")
  func unopened() async throws {
    #expect(try sandbox.spawn("verify", "--store", sandbox.url("lmdb")).status == 66)
    #expect(try sandbox.spawn("verify", "--store", "memory://").status == 64)
    try await sandbox.opened("sqlite") { (_) async throws in
      #expect(try sandbox.spawn("verify", "--store", sandbox.url("sqlite")).status == 69)
      #expect(try sandbox.spawn("verify", "--store", sandbox.url("log")).status == 78)
    }
  }

  @Test("A process that dies is told with what killed it")
  func death() throws {
    let end = try Worker.run(
      ["-c", "echo '{\"progress\":{\"bytes\":3}}'; kill -SEGV $$"], of: "/bin/sh"
    ) { #expect($0.member("bytes").count == 3) }
    guard case .died(let how) = end else {
      Issue.record("\(end)")
      return
    }
    #expect(how == "signal 11")
  }

  @Test("Compacting tells what it did, and why files stay large", arguments: persistentBackends)
  func compact(backend: String) async throws {
    let url = sandbox.url(backend)
    try await sandbox.fill(url, rooms: 40)
    #expect(await sandbox.run("remove", "/rooms", store: url).status == .success)
    let output = await sandbox.run("compact", "--json", store: url)
    #expect(output.status == .success, "\(output.notes)")
    let report = try Node(json: output.line)
    let after = report.member("after")
    let (file, live) = (after.member("file").count ?? 0, after.member("live").count ?? 0)
    #expect(file > 0 && live > 0)
    #expect(report.member("why").isEmpty == (file <= live / 2 * 3), "\(output.line)")
    #expect((report.member("before").member("file").count ?? 0) >= file)
  }
}
