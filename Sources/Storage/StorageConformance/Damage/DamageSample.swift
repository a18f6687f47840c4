internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// The content of the store that is damaged: some of each kind of record, always the same.
struct DamageSample: Sendable {
  let first = TreeID(rawValue: 1)
  let second = TreeID(rawValue: 2)
  private let third = TreeID(rawValue: 3)
  /// What of documents is in it; nil for none.
  private let documents: TreeProgram.Documents?

  init(_ documents: TreeProgram.Documents?) { self.documents = documents }

  /// The lanes that hold writes to nodes.
  private var nodeLanes: [Lane] {
    [Lane(tree: first), Lane(tree: first, identity: "ann"), Lane(tree: second)]
  }
  /// The lanes that may hold writes.
  var lanes: [Lane] {
    guard documents != nil else { return nodeLanes }
    return nodeLanes + DocumentChange.identities.map { Lane(tree: third, identity: $0) }
  }

  private var trees: [(name: String, id: TreeID, order: KeyOrder)] {
    let nodes = [("first", first), ("second", second)].map {
      (name: $0, id: $1, order: KeyOrder.realtimeDatabase)
    }
    return documents == nil ? nodes : nodes + [(DocumentChange.tree, third, .documents)]
  }

  private static func room(_ number: Int) -> Node {
    let messages = (0..<24).map { message -> (Key, Node) in
      let text = "message \(message * 7919 % 97) of room \(number), said by user \(message % 5)"
      return (
        Key("m\(100 + message)"),
        ["text": Node(.string(text)), "time": Node(.integer(Int64(number * 1000 + message)))]
      )
    }
    return Node(children: messages, priority: Priority(Int64(number)))
  }

  /// The commits of nodes.
  private var nodeCommits: [[StorageEdit]] {
    var commits: [[StorageEdit]] = []
    for number in 0..<6 {
      let tree = number < 4 ? first : second
      let path = Path("rooms/r\(number)")
      commits.append([
        .overwrite(tree, path, Self.room(number)),
        .saveQuery(TrackedQuery(tree: tree, path: path, isComplete: true)),
      ])
    }
    let large = String(repeating: "a large leaf ", count: 24_000)
    commits.append([
      .overwrite(first, "large", Node(.string(large))),
      .saveQuery(TrackedQuery(tree: first, path: "large", isComplete: true)),
      .saveQuery(
        TrackedQuery(tree: first, path: "rooms", parameters: #"{"l":2}"#, isComplete: true)),
      .pin(Pin(tree: first, path: "rooms/r1")), .setMetadata(first, "cursor", [1, 2, 3]),
    ])
    commits.append([.setTrackedKeys(first, QueryID(rawValue: 6), ["r0", "r1"])])
    for lane in nodeLanes {
      commits.append(
        (0..<5).map { number in
          .enqueue(lane, .set(Path("rooms/r\(number)/new"), Node(.string("write \(number)"))))
        } + [
          .enqueue(lane, .set("big", Node(.string(large)))),
          .finish(lane, WriteID(rawValue: 1), .acknowledged),
          .setState(lane, WriteID(rawValue: 2), .sent),
          .setState(lane, WriteID(rawValue: 2), .rejected(reason: "no")),
        ])
    }
    // Small changes of runs, which are stored as deltas.
    commits.append([.overwrite(first, "rooms/r1/m103/text", "changed")])
    commits.append([.overwrite(second, "rooms/r5/m104", .empty)])
    return commits
  }

  /// Writes the sample to a new backend, at its strongest durability.
  func write(to backend: any StorageBackend) async throws {
    for (name, id, order) in trees {
      let found = try await backend.tree(named: name, order: order)
      try require(found == id, .reusedID, "a new store's tree \(name) is \(found.rawValue)")
    }
    let commits = try story().commits
    for (index, edits) in commits.enumerated() {
      _ = try await backend.commit(edits, backend.traits.store.strongest)
      if index == 7 || index == commits.count - 3 {
        while try await backend.tidy(.seconds(1)) {}
      }
    }
  }

  /// The kinds of each commit of documents.
  private static let documentCommits: [[DocumentChange.Kind]] = [
    [.index, .put, .put, .put, .put], [.put, .put, .put, .put], [.match, .match, .match],
    [.enqueue, .enqueue, .enqueue], [.enqueue, .enqueue, .enqueue], [.reject, .answer],
    [.put, .enqueue, .match], [.forget, .put],
  ]

  /// The commits after those that make the trees, and the state of the store after each commit, from none to all
  /// of them.
  func story() throws -> (commits: [[StorageEdit]], models: [StorageModel]) {
    var model = StorageModel()
    var models = [model]
    for (name, id, order) in trees {
      _ = try model.tree(named: name, order: order, id: id)
      models.append(model)
    }
    var commits: [[StorageEdit]] = []
    func commit(_ edits: [StorageEdit]) throws {
      _ = try model.commit(edits)
      commits.append(edits)
      models.append(model)
    }
    for edits in nodeCommits { try commit(edits) }
    guard let documents else { return (commits, models) }
    for (number, kinds) in Self.documentCommits.enumerated() {
      let changes = kinds.enumerated().filter { documents.indexing || $1 != .index }.map {
        TreeProgram.Change.documents(DocumentChange(kind: $1, seed: UInt64(100 * number + $0)))
      }
      try commit(try model.edits(changes, []))
    }
    return (commits, models)
  }
}
