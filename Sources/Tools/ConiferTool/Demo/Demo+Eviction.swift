import ConiferStorage
import ConiferTree

extension Demo {
  /// Explains two rooms, brings the cache down to half, and looks for the pinned room.
  ///
  /// - Throws: `Failure` with the status `disproved` when the pinned room is not what it was.
  func evict() async throws -> [Figure] {
    let pinned = place(chat.rooms / 2)
    return try await options.reading(console) { store in
      let before = try store.backend.inspect { try $0.node(store.tree, pinned) }
      for path in [place(0), pinned] {
        for line in ExplainCommand.lines(try store.backend.explain(store.tree, path)) {
          try say("   \(line)")
        }
      }
      let space = try store.backend.space()
      let start = ContinuousClock.now
      let report = try await store.backend.evict(to: space.cache / 2, dryRun: false)
      let time = start.duration(to: .now)
      let after = try store.backend.inspect { try $0.node(store.tree, pinned) }
      guard before == after, !after.isEmpty else {
        throw Failure("missing", .disproved, "The pinned room \(pinned) did not survive.")
      }
      return [
        Figure(
          name: "cache before eviction", words: Figures.bytes(report.before),
          value: .integer(report.before)),
        Figure(
          name: "cache after eviction to half", words: Figures.bytes(report.after),
          value: .integer(report.after)),
        Figure(
          name: "rooms that went, least recently used first",
          words: Figures.count(report.queries.count), value: .integer(report.queries.count)),
        Figure(
          name: "time of the eviction", words: Figures.time(time),
          value: .number(Figures.seconds(time))),
      ]
    }
  }
}
