internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// The content of the store that is damaged: some of each kind of record, always the same.
struct DamageSample: Sendable {
  let first = TreeID(rawValue: 1)
  let second = TreeID(rawValue: 2)

  /// The lanes that hold writes.
  var lanes: [Lane] { [Lane(tree: first), Lane(tree: first, identity: "ann"), Lane(tree: second)] }

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

  /// The commits, after those that make the trees.
  var commits: [[StorageEdit]] {
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
    for lane in lanes {
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
    for (name, id) in [("first", first), ("second", second)] {
      let found = try await backend.tree(named: name)
      try require(found == id, .reusedID, "a new store's tree \(name) is \(found.rawValue)")
    }
    for (index, edits) in commits.enumerated() {
      _ = try await backend.commit(edits, backend.traits.store.strongest)
      if index == 7 { while try await backend.tidy(.seconds(1)) {} }
    }
  }

  /// The state of the store after each commit, from none to all of them.
  func models() throws -> [StorageModel] {
    var model = StorageModel()
    var models = [model]
    for (name, id) in [("first", first), ("second", second)] {
      _ = try model.tree(named: name, order: .realtimeDatabase, id: id)
      models.append(model)
    }
    for edits in commits {
      _ = try model.commit(edits)
      models.append(model)
    }
    return models
  }
}
