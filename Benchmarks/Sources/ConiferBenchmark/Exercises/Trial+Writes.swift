import Dispatch
import Foundation
import Synchronization

extension Trial {
  /// W2: a queue is written to by a thread that waits, by `await`, and by sixteen writers at once; the
  /// first two's writes are acknowledged.
  func write(
    _ engine: any Engine, _ rooms: Rooms, _ outcome: inout Outcome
  ) async throws {
    let lanes = (0..<2).map { lane in
      (0..<plan.writes).map { SmallWrite(lane: lane, number: $0, rooms: rooms) }
    }
    var numbers: [UInt64] = []
    // A few that do not count come first.
    for write in (0..<20).map({ SmallWrite(lane: 99, number: $0, rooms: rooms) }) {
      try await engine.enqueueing([write]).run()
    }
    let (blocking, firsts) = try await onThread { () throws -> (Measurement, [UInt64]) in
      var watch = Stopwatch()
      var numbers: [UInt64] = []
      for write in lanes[0] {
        let operation = engine.enqueueing([write])
        numbers.append(try watch.timeNow { try operation.runBlocking() })
      }
      return (
        watch.rate(
          "enqueue.blocking", .W2, "queued by one thread that waits", plan.writes, "commits"),
        numbers
      )
    }
    numbers = firsts
    outcome.add(blocking)
    var watch = Stopwatch()
    for write in lanes[1] {
      let operation = engine.enqueueing([write])
      numbers.append(try await watch.time { try await operation.run() })
    }
    outcome.add(watch.rate("enqueue", .W2, "queued by one task", plan.writes, "commits"))
    watch = Stopwatch()
    for (write, number) in zip(lanes[0] + lanes[1], numbers) {
      let operation = engine.acknowledging(write, number)
      try await watch.time { try await operation.run() }
    }
    outcome.add(
      watch.rate("acknowledge", .W2, "acknowledged with a tree edit", watch.calls, "commits"))
    outcome.add(try await writeTogether(engine, rooms))
  }

  /// Sixteen writers: tasks where commits are awaited, threads where they hold theirs.
  private func writeTogether(
    _ engine: any Engine, _ rooms: Rooms
  ) async throws -> Measurement {
    let share = max(1, plan.writes / 4)
    let operations = (0..<16).map { writer in
      (0..<share).map { number in
        engine.enqueueing([SmallWrite(lane: 100 + writer, number: number, rooms: rooms)])
      }
    }
    let clock = ContinuousClock()
    var watch = Stopwatch()
    let start = clock.now
    let latencies = try await withThrowingTaskGroup(of: [Duration].self) { group in
      for own in operations {
        group.addTask {
          if case .blocking = own.first {
            return try await onThread {
              try own.map { operation in
                let begun = clock.now
                try operation.runBlocking()
                return clock.now - begun
              }
            }
          }
          var times: [Duration] = []
          for operation in own {
            let begun = clock.now
            try await operation.run()
            times.append(clock.now - begun)
          }
          return times
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    let wall = clock.now - start
    for latency in latencies { watch.record(latency) }
    return watch.rate(
      "enqueue.writers", .W2, "queued by sixteen writers", 16 * share, "commits", wall: wall)
  }
}

/// Does something on a thread of its own, as an app without tasks would.
func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}
