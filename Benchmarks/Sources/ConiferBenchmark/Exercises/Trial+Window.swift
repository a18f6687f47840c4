import ConiferTree

extension Trial {
  /// W5: the last 50 by time, where the order of times is not that of keys.
  func runWindow(_ outcome: inout Outcome) async throws {
    let node = Rooms(count: 1, seed: plan.seed).wide(plan.messages)
    let path = "windows/w"
    let expected = node.children.sorted { Self.time($0.node) < Self.time($1.node) }
      .suffix(50).map(\.key.string)
    try await withEngine { engine in
      try await engine.storing(path, node).run()
      try window(engine, path, expected, indexed: false, calls: 20, &outcome)
      if try await engine.makeIndex(of: path, by: "ts", node) {
        try window(engine, path, expected, indexed: true, calls: 200, &outcome)
      }
      outcome.digests.append(try engine.digest())
    }
  }

  private func window(
    _ engine: any Engine, _ path: String, _ expected: [String], indexed: Bool, calls: Int,
    _ outcome: inout Outcome
  ) throws {
    var watch = Stopwatch()
    for call in 0..<(calls + calls / 10) {
      // The first tenth warms up.
      if call == calls / 10 { watch = Stopwatch() }
      let keys = try watch.timeNow {
        try engine.last(50, by: "ts", of: path, indexed: indexed)
      }
      try require(keys == expected, "the last 50 by time are others")
    }
    outcome.add(
      watch.time(
        indexed ? "window.index" : "window", .W5,
        "the last 50 of \(plan.messages) by ts, \(indexed ? "with" : "without") an index"))
  }

  private static func time(_ message: Node) -> Int64 {
    if case .integer(let time) = message[Key("ts")].leaf { time } else { 0 }
  }
}
