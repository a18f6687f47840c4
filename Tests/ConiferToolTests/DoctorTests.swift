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

@Suite(.enabled(if: Repository.tool != nil, "The built tool is not beside the tests."))
struct DoctorTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// The bytes of all files of a store, also of those that say who has it open.
  private func files(_ name: String = "store") throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for file in try Directory.names(in: sandbox.path(name)) {
      files[file] = try Platform.contents(sandbox.path("\(name)/\(file)"))
    }
    return files
  }

  /// What the doctor says of a store; its status must agree with what it says.
  private func doctor(_ arguments: String...) throws -> Node {
    let (status, text) = try sandbox.spawn(["doctor"] + arguments + ["--json"])
    let report = try Node(json: text)
    let isHealthy = report.member("healthy").leaf == .bool(true)
    #expect(status == (isHealthy ? 0 : ToolStatus.care.rawValue), "\(text)")
    #expect(codes(report, needingCare: true).isEmpty == isHealthy, "\(text)")
    return report
  }

  /// The codes of the findings of a report.
  private func codes(_ report: Node, needingCare: Bool) -> [String] {
    report.member("findings").children.map(\.node)
      .filter { $0.member("needsCare").leaf == .bool(needingCare) }
      .compactMap { $0.member("code").text }
  }

  private func text(_ report: Node) -> String {
    String(decoding: report.json(.plain), as: UTF8.self)
  }

  /// Makes a store with a little data.
  private func make(_ backend: String) async throws -> String {
    let url = sandbox.url(backend)
    #expect(await sandbox.run("set", "/a", #"{"b":1,"c":"two"}"#, store: url).status == .success)
    return url
  }

  @Test(
    "A sound store is healthy, by its URL and by its directory, and no byte of it changes",
    arguments: persistentBackends)
  func healthy(backend: String) async throws {
    let url = try await make(backend)
    let before = try files()
    let stamps = Sandbox.stamps(sandbox.path("store"))
    for place in [url, sandbox.path("store")] {
      let report = try doctor(place)
      #expect(codes(report, needingCare: true).isEmpty, "\(report)")
      #expect(report[Path("store/kind")] == Node(.string(backend)))
      #expect(report[Path("store/format")] == 1)
      #expect(report[Path("checked/sound")] == true)
      #expect((report[Path("checked/records")].leaf?.number ?? 0) > 0)
      #expect(report[Path("owner/open")] == false)
      #expect(report[Path("trees/0/name")] == "main")
    }
    let (status, text) = try sandbox.spawn("doctor", url)
    #expect(status == 0 && text.hasSuffix("healthy"), "\(text)")
    let kind = try #require(Tool.registry.kinds.first { $0.name == backend })
    if ["sqlite", "lmdb"].contains(backend) { #expect(kind.library != nil) }
    for word in [kind.library, Compression.library].compactMap(\.self) + [
      "versions", "mark", "files", "disk", "cache", "queue", "tidying", url,
    ] {
      #expect(text.contains(word), "\(word): \(text)")
    }
    #expect(try files() == before)
    #expect(Sandbox.stamps(sandbox.path("store")) == stamps)
    // Commands find it as they left it.
    #expect(await sandbox.run("get", "/a/b", store: url).line == "1")
  }

  @Test(
    "What waits, was refused and was set aside is told, and nothing is changed",
    arguments: persistentBackends)
  func filled(backend: String) async throws {
    let url = sandbox.url(backend)
    try await sandbox.fill(url)
    let before = try files()
    let report = try doctor("--store", url)
    #expect(codes(report, needingCare: true) == ["writes-set-aside", "rejected-writes"])
    #expect(codes(report, needingCare: false).contains("waiting-writes"))
    #expect(report[Path("checked/sound")] == true)
    #expect(report[Path("queue/rejected")] == 3)
    #expect(report[Path("incidents/writeSetAside/withBytes")] == 1)
    #expect(report[Path("trees")].childCount == 4)
    #expect(try files() == before)
  }

  @Test(
    "A hidden report has no key, name or value of the data, and not the path of the store",
    arguments: persistentBackends, [false, true])
  func hidden(backend: String, isDamaged: Bool) async throws {
    if isDamaged, !knownBackends.contains(backend) { return }
    let url = sandbox.url(backend) + "?compression=none"
    let secret = "SECRET"
    let configuration = try Tool.registry.configuration(url, defaults: StorageOptions(budget: nil))
    try await StoreOptions.opened(configuration) { backend in
      let tree = try await backend.tree(named: secret + "tree")
      let lane = Lane(tree: tree, identity: secret + "user")
      let list = (0..<300).map { number in
        (Key("\(secret)key\(number)"), Node(.string("\(secret)value neighbour \(number)")))
      }
      try await backend.commit([
        .overwrite(tree, Path("\(secret)path"), Node(children: list)),
        .setMetadata(tree, secret + "name", Array(secret.utf8)),
        .pin(Pin(tree: tree, path: Path("\(secret)pin"))),
        .saveQuery(TrackedQuery(tree: tree, path: Path("\(secret)query"))),
        .enqueue(lane, .set(Path("\(secret)write"), Node(.string(secret)), time: 1)),
        .report(
          Incident(
            kind: .writeSetAside, tree: tree, place: "write 9 of \"\(secret)\"",
            bytes: Array(secret.utf8))),
      ])
      try await backend.commit([.setState(lane, WriteID(rawValue: 1), .sent)])
      try await backend.commit([
        .setState(lane, WriteID(rawValue: 1), .rejected(reason: secret))
      ])
    }
    if isDamaged {
      let word = Array("neighbour".utf8)
      for (name, bytes) in try files() {
        var bytes = bytes
        for at in bytes.indices.dropLast(word.count)
        where bytes[at] == word[0] && bytes[at...].starts(with: word) { bytes[at] ^= 0x20 }
        _ = try sandbox.file("store/\(name)", bytes)
      }
    }
    let hex = Array(secret.utf8).hex
    for format in [[], ["--json"]] {
      let shown = try sandbox.spawn(["doctor", url] + format)
      #expect(shown.text.contains(secret) && shown.text.contains(sandbox.directory))
      let (status, text) = try sandbox.spawn(["doctor", url, "--hide-values"] + format)
      #expect(status == ToolStatus.care.rawValue)
      for word in [secret, hex, hex.uppercased(), sandbox.directory] {
        #expect(!text.contains(word), "\(word): \(text)")
      }
      #expect(text.contains("rejected-writes") && text.contains("writes-set-aside"), "\(text)")
      #expect(text.contains("damaged:") == isDamaged, "\(text)")
    }
  }

  @Test("What is not there, or is something else, is told with what helps")
  func absent() async throws {
    let nowhere = try doctor(sandbox.url("sqlite", "nowhere"))
    #expect(codes(nowhere, needingCare: true) == ["no-store"])
    #expect(codes(try doctor(sandbox.path("nowhere")), needingCare: true) == ["no-store"])
    #expect(!Platform.exists(sandbox.path("nowhere")))
    #expect(mkdir(sandbox.path("empty"), 0o700) == 0)
    #expect(codes(try doctor(sandbox.path("empty")), needingCare: true) == ["no-store"])
    #expect(rmdir(sandbox.path("empty")) == 0)
    let letter = try sandbox.file("letter", "Dear aunt")
    #expect(codes(try doctor("lmdb://\(letter)"), needingCare: true) == ["foreign"])
    _ = try await make("lmdb")
    let before = try files()
    let other = try doctor(sandbox.url("sqlite"))
    #expect(codes(other, needingCare: true) == ["foreign"])
    #expect(text(other).contains("lmdb://"))
    #expect(try files() == before)
    #expect(try sandbox.spawn("doctor", "memory://").status == ToolStatus.usage.rawValue)
    #expect(
      try sandbox.spawn("doctor", letter, "--store", letter).status == ToolStatus.usage.rawValue)
  }

  @Test(
    "A store that a process has open is told with its owner, and left alone",
    arguments: persistentBackends)
  func busy(backend: String) async throws {
    try await sandbox.opened(backend) { store in
      try await store.backend.commit([.overwrite(store.tree, "/a", 1)])
      let owner = try contents(sandbox.path("store/owner"))
      let report = try doctor(store.url)
      #expect(codes(report, needingCare: true) == ["busy"])
      #expect(report[Path("owner/open")] == true)
      #expect(report[Path("owner/process")].leaf?.number == Double(getpid()))
      #expect(report[Path("checked/records")] == 0)
      #expect(try contents(sandbox.path("store/owner")) == owner)
      try await store.backend.commit([.overwrite(store.tree, "/a", 2)])
    }
  }

  @Test(
    "An owner that was killed is told without needing care, and the next opening still sees it",
    arguments: persistentBackends)
  func leftBehind(backend: String) async throws {
    let url = try await make(backend)
    let owner = try contents(sandbox.path("store/owner")) + Array("pid 4711\nstart gone\n".utf8)
    _ = try sandbox.file("store/owner", owner)
    let report = try doctor(url)
    #expect(codes(report, needingCare: true).isEmpty, "\(report)")
    #expect(codes(report, needingCare: false).contains("left-behind"))
    #expect(report[Path("owner/process")] == 4711)
    #expect(try contents(sandbox.path("store/owner")) == owner)
  }

  @Test(
    "A cut file and a missing main file are damage, and salvage is named", arguments: knownBackends)
  func damaged(backend: String) async throws {
    let url = sandbox.url(backend)
    try await sandbox.fill(url)
    let kind = try #require(Tool.registry.kinds.first { $0.name == backend })
    let main = "store/" + (try #require(kind.files.first))
    let bytes = try contents(sandbox.path(main))
    _ = try sandbox.file(main, Array(bytes.prefix(bytes.count / 2)))
    for isThere in [true, false] {
      if !isThere { #expect(unlink(sandbox.path(main)) == 0) }
      let before = try files()
      let report = try doctor(url)
      #expect(codes(report, needingCare: true).contains("damaged"), "\(report)")
      #expect(text(report).contains("conifer salvage"))
      #expect(!text(report).contains("conifer-copy"))
      #expect(try files() == before)
      // So says a check of a copy.
      #expect(try sandbox.spawn("verify", "--copy", "--store", url).status == 76)
    }
  }

  @Test(
    "Records that are damaged are told by kind and place, with what else is there",
    arguments: knownBackends)
  func damagedRecords(backend: String) async throws {
    let url = sandbox.url(backend)
    try await sandbox.fill(url)
    let needle = Array("cursor".utf8)
    for (name, bytes) in try files() {
      var bytes = bytes
      for at in bytes.indices.dropLast(needle.count)
      where bytes[at] == needle[0] && bytes[at...].starts(with: needle) { bytes[at + 2] ^= 1 }
      _ = try sandbox.file("store/\(name)", bytes)
    }
    let before = try files()
    let report = try doctor(url)
    #expect(codes(report, needingCare: true).contains("damaged"))
    #expect(report[Path("checked/sound")] == false)
    #expect(try files() == before)
  }

  @Test("A newer format is told as that, and updating as the remedy", arguments: knownBackends)
  func newer(backend: String) async throws {
    let url = try await make(backend)
    let name = ["sqlite": "conifer.sqlite", "lmdb": "data.mdb", "log": "0000000000000001.segment"]
    let path = "store/" + (try #require(name[backend]))
    var bytes = try contents(sandbox.path(path))
    switch backend {
    // The user version in SQLite's header.
    case "sqlite": bytes[63] = 99
    case "log":
      // The format in the header of a segment, and the header's checksum.
      bytes[8] = 99
      let sum = XXHash64.hash(Array(bytes[..<56]))
      for i in 0..<8 { bytes[56 + i] = UInt8(truncatingIfNeeded: sum >> (8 * i)) }
    default:
      let magic = Array("Conifer LMDB".utf8)
      for start in bytes.indices.dropLast(magic.count + 4)
      where bytes[start] == magic[0] && bytes[start...].starts(with: magic) {
        bytes[start + magic.count] = 99
      }
    }
    _ = try sandbox.file(path, bytes)
    let before = try files()
    let report = try doctor(url)
    #expect(codes(report, needingCare: true) == ["newer-format"], "\(report)")
    #expect(text(report).contains("Update the app"))
    #expect(try files() == before)
  }

  @Test("A store that is still being made is told as that", arguments: persistentBackends)
  func unfinished(backend: String) async throws {
    let url = try await make(backend)
    try UnfinishedStore.mark(sandbox.path("store"), ["conifer migrate a b goes on with it"])
    let before = try files()
    let report = try doctor(url)
    #expect(codes(report, needingCare: true) == ["unfinished"])
    #expect(text(report).contains("conifer migrate a b goes on"))
    #expect(try files() == before)
  }

  @Test("What stands in the place of a store's mark is told as the next opening will report it")
  func foreignMark() async throws {
    let url = try await make("sqlite")
    _ = try sandbox.file("store/synced", "a letter to my aunt, in some lines of text")
    let before = try files()
    let report = try doctor(url)
    #expect(codes(report, needingCare: true) == ["opening-reports"], "\(report)")
    #expect(report.member("mark") == "a file that is not a mark")
    #expect(try files() == before)
  }

  @Test(
    "Durable commits that are missing are told, and the store still reports them when it is opened",
    arguments: knownBackends)
  func lostCommits(backend: String) async throws {
    try await sandbox.opened(backend) { store in
      func commit() async throws {
        try await store.commit([.overwrite(store.tree, "a", .empty)], .power)
        try await store.commit([.overwrite(store.tree, "a", 2)], .power)
      }
      try await commit()
      try Directory.copyFiles(
        sandbox.path("store"), to: sandbox.path("left"), leaving: StoreVerification.locks)
      for _ in 0..<2 { try await commit() }
    }
    _ = try sandbox.file("left/synced", try contents(sandbox.path("store/synced")))
    let url = sandbox.url(backend, "left")
    let before = try files("left")
    let report = try doctor(url)
    #expect(codes(report, needingCare: true) == ["lost-commits"], "\(report)")
    #expect(try files("left") == before)
    let opened = await sandbox.run("get", "a", store: url)
    #expect(opened.notes.contains("newest durable commits are lost"), "\(opened)")
    #expect(codes(try doctor(url), needingCare: true).isEmpty)
  }

  @Test(
    "What may not be read is denied, and what may only be read is checked all the same",
    .enabled(
      if: getuid() == 0 && Platform.exists("/usr/bin/setpriv"),
      "Only for the superuser on Linux, with setpriv."),
    arguments: persistentBackends)
  func denied(backend: String) async throws {
    let url = try await make(backend)
    let tool = try #require(Repository.tool)
    let limits = ["--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
    func report() throws -> Node {
      let child = try ChildProcess(
        limits + [tool, "doctor", url, "--json"], of: "/usr/bin/setpriv")
      let line = try #require(try child.line())
      while try child.line() != nil {}
      #expect(try child.wait() == .exited(ToolStatus.care.rawValue))
      return try Node(json: line)
    }
    #expect(chmod(sandbox.path("store"), 0) == 0)
    #expect(codes(try report(), needingCare: true) == ["denied"])
    #expect(chmod(sandbox.path("store"), 0o500) == 0)
    let readOnly = try report()
    #expect(codes(readOnly, needingCare: true) == ["read-only"])
    #expect(readOnly[Path("checked/sound")] == true)
    #expect(chmod(sandbox.path("store"), 0o700) == 0)
    #expect(codes(try doctor(url), needingCare: true).isEmpty)
  }

  #if Encryption
    @Test(
      "Without its key, or with another one, a store is told to be encrypted",
      arguments: persistentBackends)
    func keys(backend: String) async throws {
      let url = sandbox.url(backend)
      let right = try sandbox.file("right", [UInt8](repeating: 1, count: 32))
      let wrong = try sandbox.file("wrong", [UInt8](repeating: 2, count: 32))
      for path in [right, wrong] { chmod(path, 0o600) }
      let set = await sandbox.run("set", "/a", "1", "--key-file", right, store: url)
      #expect(set.status == .success)
      let before = try files()
      let none = try doctor(url)
      #expect(codes(none, needingCare: true) == ["wrong-key"])
      #expect(text(none).contains("no key was given") || text(none).contains("--key-file FILE"))
      // An empty name is none.
      let empty = try sandbox.doctor([url], ["CONIFER_KEY_FILE": ""])
      #expect(empty.remedy("wrong-key") == none.remedy("wrong-key"))
      let pipe = try sandbox.shell(
        "cat right | conifer doctor '\(url)' --key-file /dev/stdin")
      #expect(pipe.status == ToolStatus.badData.rawValue && pipe.text.contains("regular file"))
      let other = try doctor(url, "--key-file", wrong)
      #expect(codes(other, needingCare: true) == ["wrong-key"])
      #expect(text(other).contains("conifer rotate"))
      let fitting = try doctor(url, "--key-file", right)
      #expect(codes(fitting, needingCare: true).isEmpty, "\(fitting)")
      #expect(fitting[Path("store/encrypted")] == true)
      #expect(try files() == before)
    }
  #endif
}
