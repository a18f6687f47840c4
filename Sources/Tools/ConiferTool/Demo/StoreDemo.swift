import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferTree

/// The store demo's steps, and the table that it ends with.
struct StoreDemo {
  /// The tree that it works in.
  static let tree = "demo"

  let facts: Node
  let chat: ChatGenerator
  let commits: Int
  let options: StoreOptions
  let url: String
  let console: Console

  /// Runs every step.
  ///
  /// - Throws: `Failure` with the status `disproved` when something acknowledged is missing.
  func run() async throws {
    guard try options.configuration(console).location != nil else {
      throw Failure.usage("\(url) keeps nothing when its process dies: choose another backend.")
    }
    var figures: [DemoFigure] = []
    try say("store: \(url)")
    try await options.editing(console) { store in
      try say("1. facts and a chat of \(Figures.count(chat.total)) messages go into the store")
      figures += try await load(store)
      try say("2. a query over the facts")
      figures += try query(store)
      try say("3. a pin, and writes that wait for a server")
      figures += try await pinAndQueue(store)
    }
    try say("4. the room is read again by a store that has just been opened")
    figures += try await reopen()
    try say("5. another process commits in a loop and is killed in its midst")
    let acknowledged = try crash()
    try say("6. the store is opened again, and all that was acknowledged is looked for")
    figures += try await prove(acknowledged)
    try say("7. the idle store tidies itself: it trains a dictionary and packs its leaves with it")
    figures += try await tidy()
    try say("8. two rooms are explained, and the cache is evicted to half of its size")
    figures += try await evict()
    try DemoFigure.show(figures, stores: [url], options.json, console)
  }

  func say(_ line: String) throws {
    if !options.json { try console.print(line) }
  }

  // MARK: Steps

  private func load(_ store: TreeStore) async throws -> [DemoFigure] {
    let lane = Lane(tree: store.tree, identity: DemoWriterCommand.identity)
    try await store.commit([.overwrite(store.tree, .root, .empty), .purge(lane)], .process)
    let start = ContinuousClock.now
    var edits: [StorageEdit] = facts.children.flatMap {
      track(store, Path([$0.key]), $0.node, lastUse: chat.rooms + 1)
    }
    var progress = Progress("storing", total: chat.rooms, console)
    defer { progress.finish() }
    for room in 0..<chat.rooms {
      edits += track(store, place(room), chat.room(room), lastUse: room + 1)
      if edits.count >= 32 {
        try await store.commit(edits, .process)
        edits.removeAll()
        progress.advance(to: room + 1)
      }
    }
    try await store.commit(edits, .power)
    let seconds = Figures.seconds(start.duration(to: .now))
    let usage = try store.backend.inspect { try $0.usage(store.tree) }
    let size = try store.backend.size()
    let rate = Double(usage.leaves) / max(seconds, 1e-9)
    let ratio = Double(usage.rawLeafBytes) / Double(max(usage.leafBytes, 1))
    let each = Double(size.live) / Double(max(usage.leaves, 1))
    return [
      DemoFigure(
        name: "leaves stored", words: Figures.count(usage.leaves), value: .integer(usage.leaves)),
      DemoFigure(
        name: "leaves a second", words: Figures.count(Int(rate)), value: .number(rate)),
      DemoFigure(
        name: "compression", words: "\(Figures.fixed(ratio, 2)) to 1", value: .number(ratio)),
      DemoFigure(
        name: "bytes on disk a leaf", words: Figures.fixed(each, 1), value: .number(each)),
    ]
  }

  /// Stores data as a client does that has listened to it.
  private func track(
    _ store: TreeStore, _ path: Path, _ node: Node, lastUse: Int
  ) -> [StorageEdit] {
    let query = TrackedQuery(
      tree: store.tree, path: path, isComplete: true, lastUse: UInt64(lastUse))
    return [.overwrite(store.tree, path, node), .saveQuery(query)]
  }

  private func pinAndQueue(_ store: TreeStore) async throws -> [DemoFigure] {
    let pinned = place(chat.rooms / 2)
    let lane = Lane(tree: store.tree, identity: DemoWriterCommand.identity)
    let time = Platform.now()
    var edits: [StorageEdit] = [.pin(Pin(tree: store.tree, path: pinned))]
    for (name, score) in [("stegosaurus", 7), ("triceratops", 23), ("pterodactyl", 94)] {
      let path = Path([Key("scores"), Key(name)])
      edits.append(.enqueue(lane, .set(path, Node(.integer(Int64(score))), time: time)))
    }
    let receipt = try await store.commit(edits, .power)
    let numbers = receipt.writes.map { String($0.rawValue) }.joined(separator: ", ")
    try say("   \(pinned) is pinned, writes \(numbers) wait in the queue of \"\(lane.identity)\"")
    return []
  }

  private func reopen() async throws -> [DemoFigure] {
    let start = ContinuousClock.now
    return try await options.reading(console) { store in
      let opened = start.duration(to: .now)
      let room = try store.backend.inspect { try $0.node(store.tree, place(chat.rooms / 2)) }
      let total = start.duration(to: .now)
      return [
        DemoFigure(
          name: "time to open", words: Figures.time(opened),
          value: .number(Figures.seconds(opened))),
        DemoFigure(
          name: "time to open and read one room",
          words: "\(Figures.time(total)), \(Figures.count(room.childCount)) messages",
          value: .number(Figures.seconds(total))),
      ]
    }
  }

  /// Lets another process commit until enough was acknowledged, kills it, and returns the number of
  /// the last commit that it reported.
  private func crash() throws -> Acknowledged {
    let child = try ChildProcess(["demo-writer", "--store", url, "--tree", Self.tree])
    var acknowledged = Acknowledged()
    while acknowledged.commits < commits, let line = try child.line() { acknowledged.add(line) }
    child.kill()
    // Reports from before its death count as well.
    while let line = try child.line() { acknowledged.add(line) }
    let end = try child.wait()
    guard end == .killed(signal: ChildProcess.killSignal) else {
      throw Failure("demo-writer", .internal, "The writing process was not killed: \(end).")
    }
    try say("   killed after \(Figures.count(acknowledged.commits)) acknowledged commits")
    return acknowledged
  }

  private func prove(_ acknowledged: Acknowledged) async throws -> [DemoFigure] {
    let start = ContinuousClock.now
    return try await options.reading(console) { store in
      let opened = start.duration(to: .now)
      let proof = try store.backend.inspect { view in
        try Proof(view, store.tree, acknowledged, pinned: place(chat.rooms / 2))
      }
      return [
        DemoFigure(
          name: "time to open after the kill", words: Figures.time(opened),
          value: .number(Figures.seconds(opened))),
        DemoFigure(
          name: "commits acknowledged before the kill",
          words: Figures.count(acknowledged.commits), value: .integer(acknowledged.commits)),
        DemoFigure(
          name: "commits found afterwards", words: Figures.count(proof.found),
          value: .integer(proof.found)),
        DemoFigure(name: "acknowledged and missing", words: "none", value: .integer(0)),
      ]
    }
  }

  func place(_ room: Int) -> Path { Path([Key("chat"), chat.key(room)]) }
}

extension StoreDemo {
  fileprivate func query(_ store: TreeStore) throws -> [DemoFigure] {
    let spec = try QuerySpec.default.ordered(byChild: "height").limited(toLast: 3)
    let start = ContinuousClock.now
    let tallest = try store.backend.inspect {
      try $0.query(store.tree, Path([Key("dinosaurs")]), spec).children
    }
    let time = start.duration(to: .now)
    for child in tallest {
      let height = String(decoding: child.node["height" as Key].json(), as: UTF8.self)
      try say("   \(child.key): \(height) m")
    }
    let newest = try QuerySpec.default.ordered(by: .key).limited(toLast: 2)
    for child in try store.backend.inspect({ try $0.query(store.tree, place(0), newest).children })
    {
      let words = ["author", "text"].map { name -> String in
        if case .string(let text)? = child.node[Key(name)].leaf { return text }
        return ""
      }
      try say("   \(words.joined(separator: ": "))")
    }
    return [
      DemoFigure(
        name: "time of a query by height", words: Figures.time(time),
        value: .number(Figures.seconds(time)))
    ]
  }
}
