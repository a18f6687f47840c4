import ConiferStorage
import ConiferSync
import TestSupport
import Testing

@Suite("Connection machine: random programs")
struct RandomConnectionTests {
  /// CONIFER_SEED repeats one program, CONIFER_PROGRAMS sets how many run.
  @Test("keep every promise, and waitUntilIdle when the trouble ends", arguments: Seeded.seeds(100))
  func programs(seed: UInt64) {
    var world = ConnectionWorld(seed: seed)
    world.give(.reasonEnded(.starting))
    for _ in 0..<600 where world.faults.isEmpty { world.step() }
    world.waitUntilIdle()
    let last = world.log.suffix(60).joined(separator: "\n")
    #expect(world.faults.isEmpty, "CONIFER_SEED=\(seed) makes it again; it ended with\n\(last)")
  }
}

extension ConnectionWorld {
  /// Ends all trouble; then everything must come to rest.
  mutating func waitUntilIdle() {
    isCalm = true
    give(.reasonEnded(.offline))
    var rounds = 0
    while faults.isEmpty, !isAtRest, rounds < 20_000 {
      rounds += 1
      step()
      if rounds % 20 == 0 { pass(500) }
    }
    guard faults.isEmpty, !isAtRest else { return }
    let waiting = stored.filter { $0.key.lane == machine.lane && !$0.value.isRejected }.keys
    fail(
      "no rest: writes \(waiting.map(\.description)), operations \(operations.keys.map(\.rawValue)), "
        + "puts \(puts.map(\.rawValue)), \(machine.authentication)")
  }

  /// Whether nothing is left to do for the user who is signed in.
  private var isAtRest: Bool {
    stored.allSatisfy { $0.key.lane != machine.lane || $0.value.isRejected }
      && machine.lane.identity == user && operations.isEmpty && puts.isEmpty && chores.isEmpty
      && toServer.isEmpty && toClient.isEmpty && machine.isWritable
  }
}
