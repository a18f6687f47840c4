import ConiferKeyValue
import ConiferStorage
import ConiferTree
import TestSupport
import Testing

@testable import ConiferTool

@Suite struct TreeWalkTests {
  let sandbox: Sandbox

  init() throws { sandbox = try Sandbox() }

  /// A tree with a wide node, a large leaf, deep nodes and priorities, of some megabytes.
  private static func tree() -> Node {
    var dice = Seeded(5)
    func text(_ count: Int) -> Node {
      // Random, so that stored sizes are like the real ones.
      var text = ""
      while text.utf8.count < count { text += String(dice.next(), radix: 36) }
      return Node(.string(String(text.prefix(count))))
    }
    let wide = Node(
      children: (0..<3000).map { (Key("k\($0)"), text(700)) }, priority: Priority(3))
    let deep = Node(
      children: (0..<3).map { room in
        (
          Key("r\(room)"),
          Node(
            children: (0..<300).map {
              (Key($0), ["t": text(2000), "n": Node(.integer(1))] as Node)
            },
            priority: Priority("room"))
        )
      })
    return Node(
      children: [
        ("a", text(100)), ("deep", ["below": deep]), ("large", text(900_000)), ("wide", wide),
        ("z", 1),
      ].map { (Key($0.0), $0.1) }, priority: Priority(1.5))
  }

  @Test("Pieces are small, come in order, and make the whole tree again", arguments: backends)
  func pieces(backend: String) async throws {
    let whole = Self.tree()
    try await sandbox.opened(backend) { store in
      try await store.backend.commit([.overwrite(store.tree, .root, whole)])
      let info = try store.backend.inspect { try $0.trees()[0] }
      var ends: [Path] = []
      var copy = Node.empty
      func walk(from cursor: Path?) async throws -> Int {
        var largest = 0
        let walk = TreeWalk(backend: store.backend, tree: info, cursor: cursor) { piece in
          largest = max(largest, piece.estimatedSize)
          ends.append(piece.end)
          switch piece {
          case .node(let path, let node): copy = copy.setting(path, to: node)
          case .children(let path, let children):
            for child in children { copy = copy.setting(path.appending(child.key), to: child.node) }
          case .priority(let path, let leaf):
            copy = copy.setting(path.appending(.priority), to: Node(leaf))
          }
        }
        try await walk.run()
        return largest
      }
      let largest = try await walk(from: nil)
      #expect(copy == whole)
      // The largest piece is the large leaf: all others are smaller.
      #expect(largest < 3 << 20 && ends.count > 5, "\(largest) in \(ends.count)")
      // From each place on, what was there before is not given again, and the rest is.
      let all = ends
      for (index, place) in all.enumerated() {
        ends = []
        _ = try await walk(from: place)
        #expect(ends.first == all[(index + 1)...].first || ends.isEmpty, "\(place)")
        #expect(ends.last == all.last || index == all.count - 1, "\(place)")
      }
      #expect(copy == whole)
    }
  }

  @Test("A copy tells every difference", arguments: backends)
  func digests(backend: String) async throws {
    let changes: [(TreeID) -> StorageEdit] = [
      { .overwrite($0, "a/b", 2) }, { .overwrite($0, "a/b", 1.0) }, { .overwrite($0, "a/c", 1) },
      { .overwrite($0, "a/.priority", 1) }, { .pin(Pin(tree: $0, path: "x")) },
      { .setMetadata($0, "m", [1]) }, { .enqueue(Lane(tree: $0), .set("q", 2)) },
      { .setState(Lane(tree: $0), WriteID(rawValue: 1), .sent) },
      { .finish(Lane(tree: $0), WriteID(rawValue: 1), .discarded) },
      { .reserveWriteIDs(Lane(tree: $0), through: WriteID(rawValue: 9)) },
      { .saveQuery(TrackedQuery(tree: $0, path: "a", isComplete: true, lastUse: 4)) },
      { .setTrackedKeys($0, QueryID(rawValue: 1), ["k"]) },
      { .reserveQueryIDs($0, through: QueryID(rawValue: 4)) },
      { .report(Incident(kind: .recordSetAside, tree: $0, place: "p", bytes: [])) },
    ]
    try await sandbox.opened(backend) { store in
      try await store.backend.commit([
        .overwrite(store.tree, "a/b", 1), .enqueue(Lane(tree: store.tree), .set("q", 1)),
        .saveQuery(TrackedQuery(tree: store.tree, path: "a", isComplete: true, lastUse: 3)),
      ])
      var last = try await StoreDigest.of(store.backend)
      #expect(try await StoreDigest.of(store.backend) == last)
      for (index, change) in changes.enumerated() {
        try await store.backend.commit([change(store.tree)])
        let now = try await StoreDigest.of(store.backend)
        #expect(now != last && now.text != last.text, "change \(index)")
        #expect(now.difference(from: last) != nil)
        last = now
      }
    }
  }

  @Test("Failed exports keep the file that was there, and finished ones replace it")
  func exports() async throws {
    let url = sandbox.url("sqlite")
    #expect(await sandbox.run("set", "/a", "1", store: url).status == .success)
    let file = try sandbox.file("out.json", "what was there")
    #expect(
      await sandbox.run("export", file, "--tree", "typo", store: url).status == .missing)
    #expect(try contents(file) == Array("what was there".utf8))
    #expect(await sandbox.run("export", file, store: url).status == .success)
    #expect(try contents(file) == Array("{\"a\":1}\n".utf8))
    #expect(try Directory.names(in: sandbox.directory).filter { $0.contains("part") } == [])
    #expect(await sandbox.run("--version").text.hasPrefix("conifer"))
    #expect(await sandbox.run("evict", "--to", "1.0 MB", store: url).status == .success)
    #expect(await sandbox.run("evict", "--to", "1.0.0 MB", store: url).status == .usage)
  }
}
