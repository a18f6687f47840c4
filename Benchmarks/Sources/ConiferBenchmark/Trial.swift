import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Foundation

/// One pass of all workloads over one candidate, in a directory of its own.
struct Trial {
  let candidate: Candidate
  let durability: Durability
  let plan: Plan
  let directory: String

  /// What a pass came to.
  struct Outcome: Sendable {
    var samples: [Workload: Sample] = [:]
    /// The hash of all that is stored at the end.
    var state = ""
    var liveBytesPerLeaf = 0.0
    var fileBytesPerLeaf = 0.0
  }

  func run() async throws -> Outcome {
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var options = StorageOptions(budget: nil, durability: durability)
    options.compression = plan.compression
    let backend = try candidate.configuration(directory + "/store", options).open()
    var outcome = Outcome()
    do {
      let rooms = Rooms(count: plan.rooms, seed: plan.seed)
      let tree = try await backend.tree(named: "bench")
      try await load(backend, tree, rooms, &outcome)
      try read(backend, tree, rooms, &outcome)
      try await write(backend, tree, rooms, &outcome)
      outcome.state = try state(backend, tree)
    } catch {
      try? await backend.close()
      throw error
    }
    try await backend.close()
    return outcome
  }

  private func load(
    _ backend: any StorageBackend, _ tree: TreeID, _ rooms: Rooms, _ outcome: inout Outcome
  ) async throws {
    var watch = Stopwatch()
    for room in 0..<rooms.count {
      // Made outside of what is timed.
      let node = rooms.node(room)
      _ = try await watch.time {
        try await backend.commit([
          .overwrite(tree, rooms.path(room), node),
          .saveQuery(
            TrackedQuery(
              tree: tree, path: rooms.path(room), isComplete: true, lastUse: UInt64(room + 1))),
        ])
      }
    }
    let leaves = rooms.count * Rooms.leaves
    outcome.samples[.load] = watch.sample(leaves)
    let size = try backend.size()
    outcome.liveBytesPerLeaf = Double(size.live) / Double(leaves)
    outcome.fileBytesPerLeaf = Double(size.file) / Double(leaves)
  }

  private func read(
    _ backend: any StorageBackend, _ tree: TreeID, _ rooms: Rooms, _ outcome: inout Outcome
  ) throws {
    var random = Random(seed: plan.seed)
    var watch = Stopwatch()
    for _ in 0..<plan.reads / 10 {
      let path = rooms.path(random.below(rooms.count))
      let node = try watch.timeNow { () throws(StoreError) in
        try backend.read { (view) throws(StoreError) in try view.node(tree, path) }
      }
      guard node.childCount == Rooms.messages else { throw BenchmarkFailure.lost(candidate.name) }
    }
    outcome.samples[.room] = watch.sample(plan.reads / 10)
    var keys: [Int: Node] = [:]
    watch = Stopwatch()
    for _ in 0..<plan.reads {
      let number = random.below(min(rooms.count, 50))
      let room = keys[number] ?? rooms.node(number)
      keys[number] = room
      let path = rooms.path(number).appending(rooms.key(random.below(Rooms.messages), of: room))
        .appending(Key("ts"))
      let node = try watch.timeNow { () throws(StoreError) in
        try backend.read { (view) throws(StoreError) in try view.node(tree, path) }
      }
      guard node.leaf != nil else { throw BenchmarkFailure.lost(candidate.name) }
    }
    outcome.samples[.leaf] = watch.sample(plan.reads)
  }

  private func write(
    _ backend: any StorageBackend, _ tree: TreeID, _ rooms: Rooms, _ outcome: inout Outcome
  ) async throws {
    let lane = Lane(tree: tree, identity: "bench")
    var watch = Stopwatch()
    var writes: [WriteID] = []
    for number in 0..<plan.writes {
      let content = write(number, rooms)
      let receipt = try await watch.time { try await backend.commit([.enqueue(lane, content)]) }
      writes += receipt.writes
    }
    outcome.samples[.enqueue] = watch.sample(plan.writes)
    watch = Stopwatch()
    for (number, id) in writes.enumerated() {
      let change = write(number, rooms).changes[0]
      _ = try await watch.time {
        try await backend.commit([
          .overwrite(tree, change.path, change.node), .finish(lane, id, .acknowledged),
        ])
      }
    }
    outcome.samples[.acknowledge] = watch.sample(plan.writes)
    let clock = ContinuousClock()
    let start = clock.now
    let share = max(1, plan.writes / 4)
    let latencies = try await withThrowingTaskGroup(of: [Duration].self) { group in
      for writer in 0..<16 {
        group.addTask {
          var own: [Duration] = []
          let lane = Lane(tree: tree, identity: "writer-\(writer)")
          for number in 0..<share {
            let begun = clock.now
            try await backend.commit([.enqueue(lane, write(number, rooms))])
            own.append(clock.now - begun)
          }
          return own
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    let wall = clock.now - start
    watch = Stopwatch()
    for latency in latencies { watch.record(latency) }
    outcome.samples[.writers] = watch.sample(16 * share, wall: wall)
  }

  private func write(_ number: Int, _ rooms: Rooms) -> WriteContent {
    let path = rooms.path(number % rooms.count).appending(Key("seen")).appending(Key("u\(number)"))
    return WriteContent(
      kind: .set, path: path, changes: [.init(path, Node(.integer(Int64(number))))],
      idempotencyID: Array("write-\(number)".utf8), time: 1_704_103_200_000 + Int64(number))
  }

  /// A hash of the tree, and of every lane's writes in their order.
  private func state(_ backend: any StorageBackend, _ tree: TreeID) throws -> String {
    try backend.read { (view) throws(StoreError) in
      var lines = [NodeHash.hash(try view.node(tree, .root))]
      for lane in try view.lanes(tree).sorted(by: { $0.identity < $1.identity }) {
        var after: WriteID?
        repeat {
          let window = try view.writes(lane, after: after, limit: 500)
          for write in window {
            lines.append("\(lane.identity) \(write.id.rawValue) \(write.content.changes)")
          }
          after = window.last?.id
        } while after != nil
      }
      var hash: UInt64 = 0xCBF2_9CE4_8422_2325
      for byte in lines.joined(separator: "\n").utf8 {
        hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
      }
      return "\(lines[0]) \(String(hash, radix: 16))"
    }
  }
}

/// Why a run's figures count for nothing.
public enum BenchmarkFailure: Error, CustomStringConvertible {
  /// A candidate did not give back what it had been given.
  case lost(String)
  /// Two candidates do not hold the same at the end.
  case differ(String, String)
  /// No candidate takes part.
  case nobody

  /// The failure in words.
  public var description: String {
    switch self {
    case .lost(let name): "\(name) lost data: its figures would mean nothing"
    case .differ(let a, let b): "\(a) and \(b) do not hold the same after the same operations"
    case .nobody: "no candidate can do this durability"
    }
  }
}
