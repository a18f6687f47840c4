import ConiferKeyValue
import ConiferLeafStore
import ConiferTree
import TestSupport

@testable import ConiferStorage

/// What is done to a golden store: everything that the format can hold, once at least.
struct GoldenStory {
  /// The names of metadata that the trees hold.
  static let metadata = ["cursor", "broken", String(repeating: "n", count: 256)]

  private let kind: GoldenBackend
  private let directory: String
  private var chat = TreeID(rawValue: 0)
  private var docs = TreeID(rawValue: 0)

  private init(_ kind: GoldenBackend, _ directory: String) {
    self.kind = kind
    self.directory = directory
  }

  /// Makes a store in an empty directory's `store`, and leaves it as a killed process would.
  ///
  /// - Returns: the files' names and bytes, and what the store holds.
  static func make(
    _ kind: GoldenBackend, _ directory: String
  ) async throws -> (files: [(name: String, bytes: Bytes)], manifest: String) {
    var story = GoldenStory(kind, directory)
    try await story.write()
    return try await story.finish()
  }

  /// A room of a chat; the texts are alike enough for a dictionary to pay.
  private static func room(_ number: Int, messages: Int = 90) -> Node {
    var random = Seeded(UInt64(number))
    let words = [
      "hello", "there", "anybody", "tonight", "meeting", "later", "thanks", "everyone", "morning",
      "question", "about", "the", "schedule", "tomorrow", "please", "answer",
    ]
    return Node(
      children: (0..<messages).map { message in
        let text = (0..<14).map { _ in words[Int(random.next() % 16)] }.joined(separator: " ")
        let node: Node = [
          "text": Node(.string(text)), "time": Node(.integer(1_700_000_000_000 + Int64(message))),
          "user": Node(.string("user-\(random.next() % 9)")),
        ]
        return (Key("message\(1000 + message)"), node)
      }, priority: Priority(Int64(number)))
  }

  /// The larger part, written to a store of its own and taken over record by record, so that the
  /// golden store has no page that training and folding left behind.
  private mutating func write() async throws {
    let draft = directory + "/draft"
    var backend = try kind.open(draft, small: true)
    chat = try await backend.tree(named: "chat")
    let gone = try await backend.tree(named: "gone")
    docs = try await backend.tree(named: "docs", order: .utf8)
    let ruined = try await backend.tree(named: "ruined")
    try await backend.commit([.wipe(gone)])
    for number in 0..<60 {
      try await backend.commit([
        .overwrite(chat, Path("rooms/r\(number)"), Self.room(number))
      ])
    }
    while try await backend.tidy(.seconds(1)) {}
    for number in 4..<60 {
      try await backend.commit([.overwrite(chat, Path("rooms/r\(number)"), .empty)])
    }
    try await backend.commit(leaves)
    try await backend.commit([
      .overwrite(ruined, "room", Self.room(99, messages: 3)),
      .saveQuery(TrackedQuery(tree: ruined, path: "room", isComplete: true, resumeToken: [1])),
      .setMetadata(ruined, "broken", [4, 5, 6]),
      .enqueue(Lane(tree: ruined), .set("room/a", 1)), .enqueue(Lane(tree: ruined), .set("b", 2)),
    ])
    while try await backend.tidy(.seconds(1)) {}
    try await backend.close()
    try copyRecords(from: draft, damaging: ruined)
    backend = try kind.open(directory + "/store", small: true)
    // Each read meets damage, sets it aside and goes on.
    _ = try backend.read { (view) throws(StoreError) in
      _ = try view.node(ruined, .root)
      _ = try view.writes(Lane(tree: ruined), after: nil, limit: 9)
    }
    _ = try backend.read { (view) throws(StoreError) in try view.metadata(ruined, "broken") }
    try await queue(backend)
    try await queries(backend)
    try await backend.close()
    backend = try kind.open(directory + "/store", small: true)
    _ = try await backend.commit(
      [
        .overwrite(chat, "rooms/r1/message1007/text", "changed by a delta"),
        .overwrite(chat, "rooms/r2/message1008", .empty),
        .overwrite(chat, "rooms/r3/message1007/.priority", "after"),
        .overwrite(docs, "notes/first/title", "a delta without a dictionary"),
        .setMetadata(chat, "cursor", [1, 2, 3]),
        .setMetadata(docs, Self.metadata[2], Bytes(repeating: 7, count: 300)),
      ], .power)
    open = backend
  }

  /// Leaves of every kind, names of every kind, priorities, and leaves that stand alone.
  private var leaves: [StorageEdit] {
    let large = String(repeating: "a large leaf ", count: 24_000)
    let names = [
      "-2147483648", "-1", "-0", "0", "00", "1", "01", "2147483647", "2147483648", "", "\u{1}",
      "a", "a\u{0}b", "a\u{1}b", "\u{D7FF}", "\u{E000}", "\u{FFFD}", "\u{1F600}", ".value", "a/b",
    ]
    let kinds: Node = [
      "no": false, "yes": true, "least": Node(.integer(.min)), "most": Node(.integer(.max)),
      "half": 0.5, "tiny": Node(.double(.leastNonzeroMagnitude)),
      "huge": Node(.double(.greatestFiniteMagnitude)),
      "minusZero": Node(.double(-0.0)), "nothing": "", "text": "e\u{301}\u{0}\u{1F600}",
      "timestamp": Node(.serverValue(.timestamp)),
      "increment": Node(.serverValue(.increment(.integer(-3)))),
      "incrementHalf": Node(.serverValue(.increment(.double(0.5)))),
      "other": Node(.serverValue(.other(name: "later"))),
    ]
    let long = Path((0..<7).map { Key("\($0)" + String(repeating: "k", count: 98)) })
    let siblings = Node(
      children: (0..<40).map { number in
        (Key("sibling\(number)"), Self.room(number, messages: 9))
      })
    let named = Node(children: names.map { (Key($0), Node(.string($0))) })
    var edits: [StorageEdit] = []
    for tree in [chat, docs] {
      edits += [
        .overwrite(tree, "names", named), .overwrite(tree, "kinds", kinds),
        .overwrite(tree, "deep", Node(children: [(Key("inner"), named)], priority: "interior")),
        .overwrite(tree, "weighed", Node(.string("first"), priority: Priority(Int64(-7)))),
      ]
    }
    edits += [
      .overwrite(chat, "large/parts", Node(.string(large), priority: Priority(Int64(3)))),
      .overwrite(chat, "large/alone", Node(.string(String(large.prefix(70_000))))),
      .overwrite(chat, long, siblings), .overwrite(docs, "notes", Self.room(7, messages: 20)),
      .overwrite(docs, "notes/first", ["title": "one", "body": "two"]),
    ]
    return edits
  }

  private func copyRecords(from draft: String, damaging ruined: TreeID) throws {
    let source = try kind.store(draft, small: true)
    let target = try kind.store(directory + "/store", small: true)
    let view = try source.view()
    for space in Spaces.all {
      var batch = Batch()
      for (key, value) in try view.entries(space, prefix: []) {
        var value = value
        let isQueued = key.count == 14 && space == Spaces.queue && key.last == 2
        if StoreKey.tree(key) == ruined,
          [Spaces.runs, Spaces.metadata].contains(space) || isQueued
        {
          value[value.count - 1] ^= 1
        }
        batch.put(space, key, value)
      }
      _ = try target.apply(batch, .process)
    }
    view.close()
    try source.close()
    try target.close()
  }

  /// Queued writes in every state, in several lanes, one of them emptied.
  private func queue(_ backend: any StorageBackend) async throws {
    let large = String(repeating: "a large write ", count: 20_000)
    let update = WriteContent(
      kind: .update, path: "rooms",
      changes: [
        .init("rooms/r1/x", 1), .init("rooms/r2/.priority", "p"), .init("rooms/r3", .empty),
      ],
      idempotencyID: [1, 2, 3, 255], time: 1_700_000_000_000)
    let transaction = WriteContent(
      kind: .transaction, path: "count", changes: [.init("count", 5)],
      preconditions: [.init(path: "count", hash: "abc="), .init(path: .root, hash: "")], time: -1)
    let plain = WriteContent.set("a/b", ["c": Node(.serverValue(.timestamp))], time: 7)
    for lane in [Lane(tree: chat), Lane(tree: chat, identity: "zoë"), Lane(tree: docs)] {
      try await backend.commit([
        .enqueue(lane, plain), .enqueue(lane, update), .enqueue(lane, transaction),
        .enqueue(lane, .set("big", Node(.string(large)))), .enqueue(lane, plain),
        .enqueue(lane, plain), .enqueue(lane, plain), .enqueue(lane, plain),
        .setState(lane, WriteID(rawValue: 2), .sent),
        .setState(lane, WriteID(rawValue: 3), .sent),
        .setState(lane, WriteID(rawValue: 3), .outcomeUnknown),
        .setState(lane, WriteID(rawValue: 5), .sent),
        .setState(lane, WriteID(rawValue: 5), .rejected(reason: "permission_denied")),
        .finish(lane, WriteID(rawValue: 6), .acknowledged),
        .finish(lane, WriteID(rawValue: 7), .discarded),
        .finish(lane, WriteID(rawValue: 8), .superseded(by: WriteID(rawValue: 9))),
      ])
    }
    let emptied = Lane(tree: chat, identity: "gone")
    try await backend.commit([
      .enqueue(emptied, plain), .enqueue(emptied, plain),
      .finish(emptied, WriteID(rawValue: 1), .acknowledged), .purge(emptied),
    ])
  }

  /// Tracked queries with and without keys and tokens, pins, and a use that was counted.
  private func queries(_ backend: any StorageBackend) async throws {
    let long = Path([Key(String(repeating: "l", count: 200)), "end"])
    for tree in [chat, docs] {
      let saved = try await backend.commit([
        .saveQuery(TrackedQuery(tree: tree, path: "rooms/r1", isComplete: true, lastUse: 5)),
        .saveQuery(
          TrackedQuery(
            tree: tree, path: "rooms", parameters: #"{"l":2,"vf":"r"}"#, isComplete: true,
            lastUse: 6, resumeToken: [9, 8, 7])),
        .saveQuery(
          TrackedQuery(tree: tree, path: "absent", isComplete: true, isKnownMissing: true)),
        .saveQuery(TrackedQuery(tree: tree, path: long, parameters: #"{"i":"x"}"#)),
        .saveQuery(TrackedQuery(tree: tree, path: "forgotten")),
        .pin(Pin(tree: tree, path: "rooms/r2")), .pin(Pin(tree: tree, path: long)),
        .pin(Pin(tree: tree, path: "rooms", parameters: #"{"l":2,"vf":"r"}"#)),
      ])
      let long = Key(String(repeating: "k", count: 300))
      try await backend.commit([
        .setTrackedKeys(tree, saved.queries[1], ["r1", "r2", "\u{1F600}", long]),
        .removeQuery(tree, saved.queries[4]),
      ])
      backend.setActive(true, saved.queries[0], in: tree)
    }
  }

  /// The backend that is left open.
  private var open: (any StorageBackend)?

  private func finish() async throws -> (files: [(name: String, bytes: Bytes)], manifest: String) {
    guard let open else { throw StoreError(.closed, "Nothing was written.") }
    let manifest = try StateText.of(open)
    let files = Files.all(directory + "/store").filter { !GoldenBackend.isPassing($0.name) }
    try await open.close()
    return (files, manifest)
  }
}
