import ConiferKeyValue
import ConiferStorage
import ConiferTree

extension StoreDemo {
  /// Does the housekeeping of an idle moment.
  func tidy() async throws -> [DemoFigure] {
    try await options.reading(console) { store in
      while try await store.backend.tidy(.milliseconds(100)) {}
      let usage = try store.backend.inspect { try $0.usage(store.tree) }
      let ratio = Double(usage.rawLeafBytes) / Double(max(usage.leafBytes, 1))
      let size = try store.backend.size()
      let each = Double(size.live) / Double(max(usage.leaves, 1))
      return [
        DemoFigure(
          name: "compression after tidying", words: "\(Figures.fixed(ratio, 2)) to 1",
          value: .number(ratio)),
        DemoFigure(
          name: "dictionaries", words: Figures.bytes(usage.dictionaries),
          value: .integer(usage.dictionaries)),
        DemoFigure(
          name: "bytes on disk a leaf after tidying", words: Figures.fixed(each, 1),
          value: .number(each)),
      ]
    }
  }

  /// Explains two rooms, brings the cache down to half, and looks for the pinned room.
  ///
  /// - Throws: `Failure` with the status `disproved` when the pinned room is not what it was.
  func evict() async throws -> [DemoFigure] {
    let pinned = place(chat.rooms / 2)
    return try await options.reading(console) { store in
      let before = try store.backend.inspect { try $0.node(store.tree, pinned) }
      for path in [place(0), pinned] {
        let explanation = try store.backend.evicting().explain(store.tree, path)
        for line in ExplainCommand.lines(explanation, store.places) {
          try say("   \(line)")
        }
      }
      let space = try store.backend.evicting().space()
      let start = ContinuousClock.now
      let report = try await store.backend.evicting().evict(to: space.cache / 2, dryRun: false)
      let time = start.duration(to: .now)
      let after = try store.backend.inspect { try $0.node(store.tree, pinned) }
      guard before == after, !after.isEmpty else {
        throw Failure("missing", .disproved, "The pinned room \(pinned) did not survive.")
      }
      return [
        DemoFigure(
          name: "cache before eviction", words: Figures.bytes(report.before),
          value: .integer(report.before)),
        DemoFigure(
          name: "cache after eviction to half", words: Figures.bytes(report.after),
          value: .integer(report.after)),
        DemoFigure(
          name: "rooms that went, least recently used first",
          words: Figures.count(report.queries.count), value: .integer(report.queries.count)),
        DemoFigure(
          name: "time of the eviction", words: Figures.time(time),
          value: .number(Figures.seconds(time))),
      ]
    }
  }
}
