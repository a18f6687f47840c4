/// How much is done, and how often.
public struct Plan: Sendable, Codable {
  /// The name in reports.
  public var name = "full"
  /// Passes over every candidate; figures are medians.
  public var rounds = 5
  /// Of the data.
  public var seed: UInt64 = 2026
  /// Rooms of 400 leaves for most workloads, fewer and many more of them for loading.
  public var rooms = 250, fewRooms = 25, manyRooms = 2500
  /// Reads of one leaf; a tenth of that of whole rooms.
  public var reads = 4000
  /// Queued writes; four times as many by sixteen writers.
  public var writes = 1000
  /// Messages of the node that is asked for its last 50.
  public var messages = 10_000
  /// Pending writes at opening.
  public var pending = [0, 1000, 100_000]
  /// How often a store is opened for each of them.
  public var openings = 7
  /// Children of 1,000 bytes of the node that is big in bytes.
  public var bigChildren = 10_000
  /// Children of the node that is wide, and of the one that is emptied again.
  public var wideChildren = 100_000
  /// One-leaf updates of each.
  public var updates = 500
  /// How long server updates come, in seconds, and how many a second.
  public var streamSeconds = 5.0, streamRate = 1000
  /// How long snapshots are taken while commits go on, in seconds.
  public var snapshotSeconds = 3.0

  /// 100,000 leaves, up to a million; five rounds.
  public init() {}

  /// Smaller sizes: enough to see the order of things in minutes.
  public static var quick: Plan {
    var plan = Plan()
    plan.name = "quick"
    (plan.rooms, plan.fewRooms, plan.manyRooms) = (50, 10, 100)
    (plan.reads, plan.writes, plan.messages) = (1000, 200, 2000)
    (plan.pending, plan.openings) = ([0, 1000], 3)
    (plan.bigChildren, plan.wideChildren, plan.updates) = (1000, 5000, 100)
    (plan.streamSeconds, plan.snapshotSeconds) = (0.5, 0.3)
    return plan
  }

  /// Enough to see that everything runs; its figures say nothing.
  public static var tiny: Plan {
    var plan = quick
    plan.name = "tiny"
    plan.rounds = 1
    (plan.rooms, plan.fewRooms, plan.manyRooms) = (6, 2, 8)
    (plan.reads, plan.writes, plan.messages) = (40, 20, 200)
    (plan.pending, plan.openings) = ([0, 20], 1)
    (plan.bigChildren, plan.wideChildren, plan.updates) = (20, 200, 10)
    (plan.streamSeconds, plan.snapshotSeconds) = (0.05, 0.05)
    return plan
  }
}
