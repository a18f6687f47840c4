import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferTool

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Which store a URL names, and what stands in its place.
@Suite struct StoreChoiceTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  @Test("Databases on different backends live in one process and share nothing")
  func together() async throws {
    let registry = Tool.registry
    let stores = try backends.map { name in
      try registry.configuration(sandbox.url(name, name)).open()
    }
    for (name, store) in zip(backends, stores) {
      let tree = try await store.tree(named: "main")
      try await store.commit([
        .overwrite(tree, "/who", Node(.string(name))),
        .enqueue(Lane(tree: tree), .set("/who", Node(.string("queued on \(name)")))),
      ])
    }
    for (name, store) in zip(backends, stores) {
      #expect(store.traits.name == name)
      let tree = try await store.tree(named: "main")
      let (node, queued) = try store.inspect {
        (try $0.node(tree, "/"), try $0.writes(Lane(tree: tree), after: nil, limit: 10))
      }
      #expect(node == ["who": Node(.string(name))])
      #expect(queued.map(\.content.changes.first?.node) == [Node(.string("queued on \(name)"))])
    }
    for store in stores { try await store.close() }
  }

  @Test(
    "Reading makes no store, neither in a new place nor among other files",
    arguments: persistentBackends, [["get", "/"], ["stats"], ["pins"], ["queue", "list"]])
  func readingMakesNothing(backend: String, command: [String]) async throws {
    let url = sandbox.url(backend)
    let missing = await sandbox.run(command, store: url)
    #expect(missing.status == .missing)
    #expect(!Platform.exists(sandbox.path("store")))
    #expect(mkdir(sandbox.path("store"), 0o700) == 0)
    let letter = try sandbox.file("store/letter.txt", "Dear aunt")
    let output = await sandbox.run(command, store: url)
    #expect(output.status == .missing)
    #expect(output.notes.contains("no-store"), "\(output.notes)")
    // Nothing but the letter is there.
    #expect(unlink(letter) == 0 && rmdir(sandbox.path("store")) == 0)
  }

  @Test("A store of another backend is refused, and its backend named")
  func otherBackend() async throws {
    #expect(await sandbox.run("set", "/a", "1", store: sandbox.url("lmdb")).status == .success)
    for command in [["get", "/a"], ["set", "/a", "2"]] {
      let output = await sandbox.run(command, store: sandbox.url("sqlite"))
      #expect(output.status == .foreign)
      #expect(output.notes.contains("lmdb://"), "\(output.notes)")
    }
    #expect(!Platform.exists(sandbox.path("store/conifer.sqlite")))
    #expect(await sandbox.run("get", "/a", store: sandbox.url("lmdb")).line == "1")
  }

  /// The files of the sandbox's store.
  private func files() throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try Directory.names(in: sandbox.path("store")) {
      files[name] = try contents(sandbox.path("store/\(name)"))
    }
    return files
  }

  @Test(
    "A store without its main file is damaged for every command, which change nothing",
    arguments: persistentBackends)
  func mainFileGone(backend: String) async throws {
    let url = sandbox.url(backend)
    #expect(await sandbox.run("set", "/a", "1", store: url).status == .success)
    let kind = try #require(Tool.registry.kinds.first { $0.name == backend })
    let main = sandbox.path("store/" + (try #require(kind.files.first)))
    #expect(unlink(main) == 0)
    let before = try files()
    for command in [["get", "/a"], ["set", "/a", "2"], ["stats"], ["pins"]] {
      let output = await sandbox.run(command, store: url)
      #expect(output.status == .damaged, "\(command): \(output)")
      #expect((output.text + output.notes).contains("\(main) is missing"), "\(output)")
    }
    #expect(try files() == before)
    if Repository.tool != nil {
      #expect(try sandbox.spawn("verify", "--store", url).status == ToolStatus.damaged.rawValue)
      // Without its marker RocksDB's files are whole; of the others nothing can be read.
      let wanted = backend == "rocksdb" ? ToolStatus.success : .damaged
      let saved = try sandbox.spawn("salvage", url, sandbox.url(backend, "saved"))
      #expect(saved.status == wanted.rawValue, "\(saved)")
      #expect(try files() == before)
    }
    for other in persistentBackends where other != backend {
      for command in [["get", "/a"], ["set", "/a", "2"], ["verify"]] {
        let output = await sandbox.run(command, store: sandbox.url(other))
        #expect(output.status == .foreign, "\(other) \(command): \(output)")
        #expect(output.notes.contains("\(backend)://"), "\(output.notes)")
      }
      let configuration = try Tool.registry.configuration(sandbox.url(other))
      let error = #expect(throws: StoreError.self) { try configuration.open() }
      #expect(error?.code == .foreign)
    }
    #expect(try files() == before)
    // A changed bit of the kind's name.
    let owner = try contents(sandbox.path("store/owner"))
    var changed = owner
    changed[5] ^= 1
    _ = try sandbox.file("store/owner", changed)
    for command in [["get", "/a"], ["set", "/a", "2"], ["stats"]] {
      let output = await sandbox.run(command, store: url)
      #expect(output.status == .damaged, "\(command): \(output)")
      #expect((output.text + output.notes).contains("which mends the file"), "\(output)")
    }
    #expect(try contents(sandbox.path("store/owner")) == changed)
    // Of a store from before kinds were recorded, a file that was made later tells.
    if backend == "lmdb" || backend == "sqlite" {
      _ = try sandbox.file("store/owner", "")
      if backend == "sqlite" { _ = try sandbox.file("store/conifer.sqlite-wal", "frames") }
      for command in [["get", "/a"], ["set", "/a", "2"]] {
        #expect(await sandbox.run(command, store: url).status == .damaged)
      }
      #expect(!Platform.exists(main))
    }
    Directory.remove(sandbox.path("store"))
    #expect(await sandbox.run("set", "/a", "2", store: url).status == .success)
  }

  @Test("A file in the place of a store is foreign and stays", arguments: persistentBackends)
  func file(backend: String) async throws {
    let path = try sandbox.file("store", "a letter")
    for command in [["get", "/"], ["set", "/a", "1"]] {
      let output = await sandbox.run(command, store: sandbox.url(backend))
      #expect(output.status == .foreign, "\(output.notes)")
      #expect(output.notes.contains("is a file"), "\(output.notes)")
    }
    #expect(try contents(path) == Array("a letter".utf8))
  }

  @Test("The files of a store are its owner's alone", arguments: persistentBackends)
  func permissions(backend: String) async throws {
    #expect(mkdir(sandbox.path("store"), 0o755) == 0)
    try await sandbox.opened(backend) { store in
      try await store.backend.commit([.overwrite(store.tree, "/a", 1)])
      let files = Tool.registry.kinds.first { $0.name == backend }?.files ?? []
      var seen: [String] = []
      for file in files + ["owner"] {
        var info = stat()
        guard stat(sandbox.path("store/\(file)"), &info) == 0 else { continue }
        seen.append(file)
        #expect(info.st_mode & 0o077 == 0, "\(file)")
      }
      #expect(seen.count > 1 && seen.contains("owner"), "\(seen)")
    }
  }

  @Test(
    "The superuser without power over permissions is refused like anybody",
    .enabled(
      if: getuid() == 0 && Platform.exists(limiter) && Repository.tool != nil,
      "Only for the superuser on Linux, with the built tool and setpriv."),
    arguments: persistentBackends)
  func deniedChild(backend: String) async throws {
    let url = sandbox.url(backend)
    #expect(await sandbox.run("set", "/a", "1", store: url).status == .success)
    let tool = try #require(Repository.tool)
    let limits = ["--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
    func status() throws -> ChildProcess.End {
      let child = try ChildProcess(limits + [tool, "get", "/a", "--store", url], of: limiter)
      while try child.line() != nil {}
      return try child.wait()
    }
    #expect(try status() == .exited(0))
    for mode in [0, 0o500] as [mode_t] {
      #expect(chmod(sandbox.path("store/owner"), 0o400) == 0)
      #expect(chmod(sandbox.path("store"), mode) == 0)
      #expect(try status() == .exited(ToolStatus.denied.rawValue))
    }
    #expect(chmod(sandbox.path("store"), 0o700) == 0)
    #expect(chmod(sandbox.path("store/owner"), 0o600) == 0)
    #expect(try status() == .exited(0))
  }

  @Test(
    "An import that is killed by a signal leaves a prefix marked incomplete",
    .enabled(if: Repository.tool != nil, "The built tool is not beside the tests."),
    arguments: persistentBackends)
  func killedImport(backend: String) async throws {
    let url = sandbox.url(backend)
    let chat = ChatGenerator(rooms: 20, messages: 50)
    let all = Node(children: (0..<20).map { (chat.key($0), chat.room($0)) })
    #expect(await sandbox.run("set", "/chat/old", "1", store: url).status == .success)
    let file = try sandbox.file("chat.json", all.json(.export))
    let tool = try #require(Repository.tool)
    let child = try ChildProcess(
      ["import", file, "--path", "/chat", "--replace", "--store", url], of: tool)
    // The kill falls when the import owns the store, whose lock file then names it, or before or
    // after that: what follows holds for each. Opening the store to look would be in its way.
    for _ in 0..<2000 {
      if try !contents(sandbox.path("store/owner")).isEmpty { break }
      usleep(1000)
    }
    child.kill()
    let end = try child.wait()
    let output = await sandbox.run("get", "/chat", "--json", store: url)
    #expect(output.status == .success)
    let found = try Node(json: output.line)
    let incomplete = await sandbox.run("queries", "--incomplete", "--json", store: url).line
    if end == .exited(0) || found == all {
      #expect(found == all)
    } else if found != ["old": 1] {
      for child in found.children { #expect(all[child.key].leafCount >= child.node.leafCount) }
      #expect(incomplete.contains(#""path":"/chat""#), "\(incomplete)")
    }
    let again = await sandbox.run("import", file, "--path", "/chat", "--replace", store: url)
    #expect(again.status == .success)
    #expect(try Node(json: await sandbox.run("get", "/chat", "--json", store: url).line) == all)
    #expect(await sandbox.run("queries", "--incomplete", "--json", store: url).line == "[]")
  }
}

/// The program that takes privileges away.
private let limiter = "/usr/bin/setpriv"
