import ConiferTree
import Foundation
import Synchronization

extension Trial {
  /// W11: updates come by the clock, whether or not earlier ones are done; a commit's time counts from
  /// when its update came.
  func runStream(_ outcome: inout Outcome) async throws {
    let rooms = Rooms(count: min(plan.rooms, 50), seed: plan.seed)
    let count = Int(plan.streamSeconds * Double(plan.streamRate))
    let step = Duration.nanoseconds(1_000_000_000 / plan.streamRate)
    try await withEngine { engine in
      for room in 0..<rooms.count {
        try await engine.loading(Rooms.path(room), rooms.node(room), use: 1).run()
      }
      // Operations that are late begin together, in any order; so a path is written again only much later.
      let operations = (0..<count).map { number in
        engine.storing(
          "\(Rooms.path(number % rooms.count))/live-\(number / rooms.count % 40)",
          rooms.edited(number))
      }
      var watch = Stopwatch()
      let times = try await Self.paced(operations, step)
      for time in times { watch.record(time) }
      let rate = "\(plan.streamRate) updates a second"
      outcome.add(watch.time("stream", .W11, "p99 of a commit at \(rate)", percentile: 99))
      outcome.add(watch.time("stream.p50", .W11, "p50 of a commit at \(rate)"))
      outcome.digests.append(try engine.digest())
    }
  }

  /// Begins each operation at its time, in order, and gives how long after that each was done.
  private static func paced(
    _ operations: [Operation], _ step: Duration
  ) async throws -> [Duration] {
    let clock = ContinuousClock()
    if case .blocking = operations.first {
      return try await onThread {
        let start = clock.now
        return try operations.enumerated().map { number, operation in
          let due = start + step * number
          let early = due - clock.now
          if early > .zero { Thread.sleep(forTimeInterval: early.seconds) }
          try operation.runBlocking()
          return clock.now - due
        }
      }
    }
    let start = clock.now
    return try await withThrowingTaskGroup(of: Duration.self) { group in
      for (number, operation) in operations.enumerated() {
        let due = start + step * number
        if due > clock.now { try await clock.sleep(until: due) }
        group.addTask(priority: .high) {
          try await operation.run()
          return clock.now - due
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }

  /// W12: one thread reads rooms, again and again, while another commits.
  func runSnapshots(_ outcome: inout Outcome) async throws {
    let rooms = Rooms(count: min(plan.rooms, 50), seed: plan.seed)
    let seconds = plan.snapshotSeconds
    try await withEngine { engine in
      for room in 0..<rooms.count {
        try await engine.loading(Rooms.path(room), rooms.node(room), use: 1).run()
      }
      let before = Files.allocatedBytes(storeDirectory)
      let isDone = Mutex(false)
      async let reading = onThread { () throws -> Stopwatch in
        var random = Random(seed: plan.seed)
        var watch = Stopwatch()
        while !isDone.withLock({ $0 }) {
          let path = Rooms.path(random.below(rooms.count))
          let leaves = try watch.timeNow { try engine.leaves(path) }
          // Each commit replaces a room of so many leaves by as many.
          try require(leaves == Rooms.leaves, "a snapshot of \(path) has \(leaves) leaves")
        }
        return watch
      }
      var commits = Stopwatch()
      let end = ContinuousClock.now + .milliseconds(Int(seconds * 1000))
      var number = 0
      do {
        while ContinuousClock.now < end {
          let room = number % rooms.count
          let operation = engine.loading(
            Rooms.path(room), rooms.node(room + rooms.count * (1 + number % 3)), use: 2)
          try await commits.time { try await operation.run() }
          number += 1
        }
      } catch {
        isDone.withLock { $0 = true }
        _ = try? await reading
        throw error
      }
      isDone.withLock { $0 = true }
      let reads = try await reading
      let wall = Duration.seconds(seconds)
      outcome.add(
        reads.rate("snapshot.read", .W12, "rooms read meanwhile", reads.calls, "rooms", wall: wall))
      outcome.add(
        commits.rate(
          "snapshot.commit", .W12, "rooms replaced meanwhile", commits.calls, "commits")
      )
      outcome.add(
        "snapshot.files", .W12, "files afterwards",
        ratioOfFiles(before), "of before")
    }
  }

  private func ratioOfFiles(_ before: Int) -> Double {
    Double(Files.allocatedBytes(storeDirectory)) / Double(max(1, before))
  }
}
