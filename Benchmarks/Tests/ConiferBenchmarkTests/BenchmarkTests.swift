import ConiferKeyValue
import ConiferLog
import ConiferStorage
import ConiferTree
import Foundation
import Testing

@testable import ConiferBenchmark

@Suite struct BenchmarkTests {
  private let log = Candidate(name: "log") { .log(at: $0, options: $1) }

  @Test func `Every workload has a figure for every candidate, at a durability that it can do`()
    async throws
  {
    let relaxed = try await run([.memory, log], .relaxed)
    #expect(relaxed.rows.map(\.candidate) == ["memory", "log"])
    for row in relaxed.rows {
      #expect(row.figures.map(\.workload) == Workload.allCases)
      for figure in row.figures {
        #expect(figure.rate > 0 && figure.p50 > 0 && figure.p50 <= figure.max)
        #expect(figure.lowest <= figure.rate && figure.rate <= figure.highest)
      }
      #expect(row.liveBytesPerLeaf > 5)
    }
    #expect(try await run([.memory, log], .power).rows.map(\.candidate) == ["log"])
  }

  @Test func `What is stored at the end tells data apart, and a difference fails the run`()
    async throws
  {
    func outcome(_ seed: UInt64) async throws -> Trial.Outcome {
      var plan = Plan.quick
      plan.seed = seed
      let directory = FileManager.default.temporaryDirectory.path + "/\(UUID().uuidString)"
      return try await Trial(
        candidate: .memory, durability: .relaxed, plan: plan, directory: directory
      ).run()
    }
    let (one, same, other) = (try await outcome(1), try await outcome(1), try await outcome(2))
    try Benchmark.agree("a", [one], "b", same)
    #expect(throws: BenchmarkFailure.self) { try Benchmark.agree("a", [one], "b", other) }
  }

  @Test func `Rooms depend on their seed and number alone`() {
    let rooms = Rooms(count: 3, seed: 1)
    #expect(rooms.node(1) == Rooms(count: 9, seed: 1).node(1))
    #expect(rooms.node(1) != Rooms(count: 9, seed: 2).node(1))
  }

  @Test func `Medians are of the middle`() {
    #expect(Benchmark.median([3, 1, 2]) == 2)
    #expect(Benchmark.median([4, 1, 2, 3]) == 2.5)
    #expect(Benchmark.median([]) == 0)
  }

  @Test(.enabled(if: Compression.standard != .none, "the package was built without zstd"))
  func `A room's text compresses about as a real chat's does`() async throws {
    let backend = try StorageConfiguration.memory(StorageOptions(budget: nil)).open()
    let tree = try await backend.tree(named: "main")
    let rooms = Rooms(count: 20, seed: 2026)
    for room in 0..<20 {
      try await backend.commit([.overwrite(tree, rooms.path(room), rooms.node(room))])
    }
    let usage = try backend.read { (view) throws(StoreError) in try view.usage(tree) }
    let ratio = Double(usage.rawCache) / Double(usage.cache)
    // The JSON of such a room shrinks 2.55 times under zstd -3; what is packed has no repeated names.
    #expect((1.9...2.3).contains(ratio), "\(ratio)")
    try await backend.close()
  }

  private func run(
    _ candidates: [Candidate], _ durability: Durability
  ) async throws -> BenchmarkTable {
    try await Benchmark(candidates, plan: .quick).run(
      durability, in: FileManager.default.temporaryDirectory.path)
  }
}
