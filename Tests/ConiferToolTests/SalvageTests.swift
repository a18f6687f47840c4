import ConiferKeyValue
import ConiferStorage
import ConiferTree
import TestSupport
import Testing

@testable import ConiferTool

@Suite(.enabled(if: Repository.tool != nil, "The built tool is not beside the tests."))
struct SalvageTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// A salvaged store is sound, and holds nothing that the original did not.
  private func check(
    _ url: String, against original: (root: Node, writes: [WriteID: QueueEntry]), _ place: String
  ) async throws -> (leaves: Int, writes: Int) {
    #expect(try sandbox.spawn("verify", "--store", url).status == 0, "\(place)")
    let configuration = try Tool.registry.configuration(
      url, defaults: StorageOptions(budget: nil))
    return try await StoreOptions.opened(configuration) { backend in
      try backend.inspect { view in
        guard let tree = try view.trees().first(where: { $0.name == "main" })?.id else {
          return (0, 0)
        }
        let root = try view.node(tree, .root)
        Self.expectPart(root, of: original.root, place, .root)
        try view.forEachQuery(tree) { stored in
          guard stored.query.isComplete, stored.query.isDefault else { return }
          #expect(
            root[stored.query.path] == original.root[stored.query.path],
            "\(place): \(stored.query.path) is complete and is not")
        }
        let lane = Lane(tree: tree, identity: "ann")
        var count = 0
        for rejected in [false, true] {
          try view.forEachWrite(lane, rejected: rejected) { write in
            count += 1
            #expect(original.writes[write.id] == write, "\(place): write \(write.id.rawValue)")
          }
        }
        return (root.leafCount, count)
      }
    }
  }

  private static let older: Node = "message 7 of room 1, with words that make it longer"

  private static func expectPart(_ node: Node, of whole: Node, _ place: String, _ path: Path) {
    // A small change that was lost leaves the older value, in a query that is not complete.
    if node.isLeaf, path == "rooms/r1/m7/text", node == older { return }
    if node.isLeaf { return #expect(node == whole, "\(place): \(path)") }
    for child in node.children {
      expectPart(child.node, of: whole[child.key], place, path.appending(child.key))
    }
  }

  private func original(
    _ url: String
  ) async throws -> (root: Node, writes: [WriteID: QueueEntry]) {
    let configuration = try Tool.registry.configuration(
      url, defaults: StorageOptions(budget: nil))
    return try await StoreOptions.opened(configuration) { backend in
      try backend.inspect { view in
        let tree = try view.trees()[0].id
        var writes: [WriteID: QueueEntry] = [:]
        for rejected in [false, true] {
          try view.forEachWrite(Lane(tree: tree, identity: "ann"), rejected: rejected) {
            writes[$0.id] = $0
          }
        }
        return (try view.node(tree, .root), writes)
      }
    }
  }

  @Test("All of a sound store is saved, to any backend", arguments: pairs(salvagedBackends))
  func sound(pair: [String]) async throws {
    let (from, to) = (sandbox.url(pair[0], "from"), sandbox.url(pair[1], "to"))
    try await sandbox.fill(from)
    // Taken first: RocksDB writes where it opens.
    let digest = try await sandbox.digest(from)
    let files = try sandbox.files("from")
    let (status, text) = try sandbox.spawn("salvage", from, to)
    let saved = try await sandbox.digest(to)
    // A report of damage came over: not everything was sound.
    #expect(status == 76, "\(text)")
    #expect(saved == digest, "\(digest.difference(from: saved) ?? "")")
    #expect(try sandbox.files("from") == files)
    #expect(!Platform.exists(sandbox.path("to.salvage")))
    #expect(try sandbox.spawn("salvage", from, to).status == 78)
  }

  @Test("A salvage tells how far it is, and a terminal alone shows it", arguments: salvagedBackends)
  func progress(backend: String) async throws {
    let (from, to) = (sandbox.url(backend, "from"), sandbox.url("log", "to"))
    try await sandbox.fill(from, rooms: 12)
    let (_, text) = try sandbox.spawn("salvage-worker", from, to)
    let told = text.split(separator: "\n").compactMap { try? Node(json: String($0)) }
      .map { $0.member("progress") }.filter { !$0.isEmpty }
    let phases = told.map { $0.member("phase").text ?? "" }
    #expect(phases.first == "reading" && phases.last == "copying", "\(phases)")
    #expect(phases.sorted(by: >) == phases)
    for part in told {
      #expect((part.member("bytes").count ?? 0) > 0 && (part.member("expected").count ?? 0) > 0)
    }
    let quiet = try sandbox.spawn("salvage", from, sandbox.url("log", "again"))
    #expect(!quiet.text.contains("reading ["), "\(quiet.text)")
  }

  @Test(
    "What a damaged store still holds is saved, and nothing else", arguments: salvagedBackends)
  func damaged(backend: String) async throws {
    let url = sandbox.url(backend, "from")
    try await sandbox.fill(url, rooms: 12)
    let original = try await original(url)
    let files = try sandbox.files("from")
    var dice = Seeded(UInt64(backend.utf8.count))
    print("seed \(backend.utf8.count)")
    var saved = 0
    for round in 0..<10 {
      let name = files.keys.sorted().filter {
        !(files[$0] ?? []).isEmpty && !$0.hasSuffix("reserve")
      }
      let victim = name[dice.below(name.count)]
      var bytes = files[victim] ?? []
      let place: String
      if round % 4 == 3 {
        bytes = Array(bytes.prefix(bytes.count / 4 + dice.below(max(1, bytes.count * 3 / 4))))
        place = "round \(round): \(victim) cut to \(bytes.count)"
      } else if round % 4 == 2 {
        // A page of zeros, not the first ones.
        let page = 2 + dice.below(max(1, bytes.count / 4096 - 2))
        for at in (page * 4096)..<max(page * 4096, min(bytes.count, (page + 1) * 4096)) {
          bytes[at] = 0
        }
        place = "round \(round): page \(page) of \(victim) zeroed"
      } else {
        let at = dice.below(bytes.count)
        bytes[at] ^= UInt8(1 << dice.below(8))
        place = "round \(round): \(victim) flipped at \(at)"
      }
      for (name, content) in files { _ = try sandbox.file("from/\(name)", content) }
      _ = try sandbox.file("from/\(victim)", bytes)
      let before = try sandbox.files("from")
      let to = sandbox.url("log", "to\(round)")
      let (status, text) = try sandbox.spawn("salvage", url, to)
      #expect(try sandbox.files("from") == before, "\(place)")
      #expect([0, 76, 78].contains(status), "\(place): \(status) \(text)")
      guard Platform.exists(sandbox.path("to\(round)")) else {
        // Only what says where everything is may be beyond saving.
        #expect(status != 0, "\(place)")
        continue
      }
      saved += 1
      let found = try await check(to, against: original, place)
      if status == 0 {
        #expect(found.writes == original.writes.count, "\(place)")
        #expect(found.leaves == original.root.leafCount, "\(place)")
      }
      #expect(found.writes > 0 || status == 76, "\(place)")
    }
    #expect(saved >= 5, "\(saved) of 10")
  }

  @Test("Nothing is removed that stands where salvage works")
  func inTheWay() async throws {
    let from = sandbox.url("sqlite", "db.salvage")
    #expect(await sandbox.run("set", "/a", "1", store: from).status == .success)
    let files = try sandbox.files("db.salvage")
    #expect(try sandbox.spawn("salvage", from, sandbox.url("sqlite", "db")).status == 78)
    #expect(try sandbox.files("db.salvage") == files)
    #expect(Platform.isMissing(sandbox.path("db")))
  }

  @Test("A store whose registry is lost is saved under made-up names")
  func registry() async throws {
    let url = sandbox.url("sqlite", "from")
    try await sandbox.fill(url)
    let digest = try await sandbox.digest(url)
    var bytes = try Platform.contents(sandbox.path("from/conifer.sqlite"))
    // The registry's records: a tree's name behind its key order.
    let needle: [UInt8] = [0, 4] + Array("main".utf8)
    for at in 0..<(bytes.count - 8) where Array(bytes[at..<(at + 6)]) == needle {
      bytes[at] ^= 0x40
    }
    _ = try sandbox.file("from/conifer.sqlite", bytes)
    #expect(try sandbox.spawn("verify", "--store", url).status == 76)
    let (status, text) = try sandbox.spawn("salvage", url, sandbox.url("lmdb", "to"))
    #expect(status == 76 && text.contains("what tree 1 was is lost"), "\(text)")
    let saved = try await sandbox.digest(sandbox.url("lmdb", "to"))
    // Its name is still told by the index of names.
    #expect(saved == digest, "\(digest.difference(from: saved) ?? "")")
  }

  @Test("A directory of another kind of store is foreign, one of none holds no store")
  func otherKind() async throws {
    let from = sandbox.url("sqlite", "from")
    #expect(await sandbox.run("set", "/a", "1", store: from).status == .success)
    for kind in ["lmdb", "log"] {
      let (status, _) = try sandbox.spawn(
        "salvage", sandbox.url(kind, "from"), sandbox.url("log", "to"))
      #expect(status == 78, "\(kind)")
    }
    try Platform.makeDirectories(sandbox.path("none"))
    #expect(
      try sandbox.spawn("salvage", sandbox.url("lmdb", "none"), sandbox.url("log", "to")).status
        == 66)
  }

  @Test("What a killed salvage left is in nobody's way")
  func leftOver() async throws {
    let from = sandbox.url("sqlite", "from")
    #expect(await sandbox.run("set", "/a", "1", store: from).status == .success)
    let directory = try SalvageDirectory(sandbox.path("to.salvage"))
    try Platform.makeDirectories(directory.store)
    // Another one is at work there.
    #expect(try sandbox.spawn("salvage", from, sandbox.url("log", "to")).status == 69)
    withExtendedLifetime(directory) {}
    #expect(Platform.exists(directory.store))
    directory.remove()
    try Platform.makeDirectories(sandbox.path("to.salvage/store"))
    _ = try sandbox.file("to.salvage/workshop", "")
    #expect(try sandbox.spawn("salvage", from, sandbox.url("log", "to")).status == 0)
    #expect(Platform.isMissing(sandbox.path("to.salvage")))
    // What one leaves that is killed just before the new store gets its name.
    try Platform.makeDirectories(sandbox.path("empty"))
    #expect(try sandbox.spawn("salvage", from, sandbox.url("log", "empty")).status == 0)
    #expect(try sandbox.spawn("salvage", from, sandbox.url("log", "empty")).status == 78)
  }
}
