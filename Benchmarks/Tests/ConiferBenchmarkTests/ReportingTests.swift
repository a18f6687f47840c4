import Foundation
import Testing

@testable import ConiferBenchmark

@Suite struct ReportingTests {
  /// A run that is made up: figures by id, candidate and round.
  static func record(_ figures: [(String, Workload, [String: [Double]])]) throws -> RunRecord {
    var record = RunRecord(plan: Plan(), machine: Machine.describe(NSTemporaryDirectory()))
    let candidates = Set(figures.flatMap { $0.2.keys }).sorted()
    for round in 0..<3 {
      for name in candidates {
        var outcome = Outcome(
          candidate: name, kind: name.hasPrefix("raw") ? .raw : .backend, durability: "power",
          exercise: .rooms, round: round)
        for (id, workload, values) in figures {
          guard let value = values[name]?[round] else { continue }
          var one = Measurement(
            id: id, title: "what <\(id)> is", workload: workload, value: value, unit: "x/s",
            isRate: !["live", "evict"].contains(id))
          (one.p50, one.p99, one.longest) = (value, value, value)
          (one.calls, one.flushes, one.written) = (10, 10, 1000)
          outcome.add(one)
        }
        try record.take(outcome)
      }
    }
    return record
  }

  @Test func `Medians are of the middle`() {
    #expect([3, 1, 2].median == 2)
    #expect([4, 1, 2, 3].median == 2.5)
    #expect([Double]().median == 0)
  }

  @Test func `Figures are medians of the rounds with their spread`() throws {
    let summary = Summary(try Self.record([("load", .W1, ["log": [5, 1, 3]])]))
    let figure = try #require(summary.tables[0].line("load")?.figure("log"))
    #expect((figure.value, figure.lowest, figure.highest) == (3, 1, 5))
    #expect((figure.flushes, figure.written) == (1, 100))
    #expect(summary.markdown().contains("3 [1–5]; 3 / 3 / 3 µs; 1 flushes, 100 B"))
  }

  @Test func `Bars compare with raw LMDB, or with the backend's own figures`() throws {
    let same = { (value: Double) in [Double](repeating: value, count: 3) }
    let bars = Bars(
      Summary(
        try Self.record([
          ("load", .W1, ["log": same(180), "lmdb": same(90), "raw LMDB": same(100)]),
          ("live", .W1, ["log": same(14), "lmdb": same(20), "raw LMDB": same(166)]),
          ("enqueue", .W2, ["log": same(100), "lmdb": same(100), "raw LMDB": same(100)]),
          ("enqueue.writers", .W2, ["log": same(800), "lmdb": same(300)]),
          ("evict", .W7, ["log": same(9), "lmdb": same(39), "raw LMDB": same(10)]),
        ])))
    func verdict(_ title: String) throws -> Bars.Verdict {
      try #require(bars.verdicts.first { $0.title == title })
    }
    let load = try verdict("W1 leaves a second")
    #expect(load.reached.map(\.candidate) == ["log", "lmdb"])
    #expect(load.best?.1 == 1.8)
    #expect(try #require(load.isMet) == (true, false))
    #expect(try #require(try verdict("W1 live bytes a leaf").isMet) == (true, true))
    #expect(try #require(try verdict("W2 by await").isMet) == (false, true))
    #expect(try #require(try verdict("W2 by await, 16 writers, of one").isMet) == (true, false))
    #expect(try #require(try verdict("W7 evict half").isMet) == (true, true))
    #expect(try verdict("W3 whole room").isMet == nil)
    #expect(!bars.areMet)
    #expect(bars.text.contains("not measured"))
    #expect(bars.text.contains("short: lmdb"))
  }

  @Test func `A comparison names what differs beyond the spread`() throws {
    let old = try Self.record([
      ("load", .W1, ["log": [10, 11, 12], "lmdb": [10, 11, 12]]),
      ("evict", .W7, ["log": [10, 10, 10]]),
    ])
    let new = try Self.record([
      ("load", .W1, ["log": [20, 22, 24], "lmdb": [11, 12, 13]]),
      ("evict", .W7, ["log": [40, 40, 40]]),
    ])
    let comparison = Comparison(Summary(old), Summary(new))
    #expect(comparison.rows.filter(\.isClear).count == 2)
    #expect(comparison.text.contains("2x better: log"))
    #expect(comparison.text.contains("0.25x worse: log"))
    #expect(!comparison.text.contains("lmdb"))
  }

  @Test func `A record is the same after it was kept`() throws {
    let record = try Self.record([("load", .W1, ["log": [1, 2, 3]])])
    let path = NSTemporaryDirectory() + "/conifer-bench-\(UUID().uuidString).json"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try record.json.write(to: URL(fileURLWithPath: path))
    #expect(try RunRecord(contentsOf: path).json == record.json)
  }

  @Test func `Counts above their limits fail, and those well below are told`() {
    let limits = OperationCounts(["log": ["flushes": 1, "bytes": 100, "old": 3]])
    #expect(limits.differences(from: limits).isEmpty)
    let found = OperationCounts(["log": ["flushes": 2, "bytes": 50, "new": 1]])
    let differences = found.differences(from: limits)
    #expect(differences.map(\.name) == ["bytes", "flushes", "new", "old"])
    #expect(differences.map(\.isExceeded) == [false, true, true, true])
  }
}
