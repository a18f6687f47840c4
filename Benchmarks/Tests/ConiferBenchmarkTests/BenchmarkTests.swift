import CPeers
import ConiferKeyValue
import ConiferLog
import ConiferStorage
import ConiferTree
import Foundation
import Testing

@testable import ConiferBenchmark

@Suite struct BenchmarkTests {
  private let log = Candidate(name: "log") { .log(at: $0, options: $1) }
  private var directory: String { FileManager.default.temporaryDirectory.path }

  @Test func `Every workload has figures for backends and raw engines alike`() async throws {
    let record = try await Benchmark([log] + Candidate.peers, plan: .tiny).run(
      [.power], in: directory)
    let table = try #require(Summary(record).tables.first)
    #expect(table.candidates == ["log"] + Candidate.peers.map(\.name))
    #expect(Set(table.lines.map(\.workload)) == Set(Workload.allCases))
    for line in table.lines {
      // Nobody but raw engines keeps an index yet, and not every engine tells what is live.
      #expect(line.figures.count >= (line.id == "window.index" ? 2 : table.candidates.count))
      for figure in line.figures {
        #expect(figure.lowest <= figure.value && figure.value <= figure.highest)
        if line.isRate { #expect(figure.value > 0, "\(line.id) of \(figure.candidate)") }
      }
    }
  }

  @Test func `A candidate has no place in tables of what it cannot do`() async throws {
    let record = try await Benchmark([.memory, log], plan: .tiny, workloads: [.W2]).run(
      [.relaxed, .power], in: directory)
    #expect(Summary(record).tables.map(\.durability) == ["relaxed", "power"])
    #expect(Summary(record).tables.map(\.candidates) == [["memory", "log"], ["log"]])
    #expect(record.outcomes.allSatisfy { $0.measurements.allSatisfy { $0.workload == .W2 } })
  }

  @Test func `What is stored at the end tells data apart, and a difference fails the run`()
    async throws
  {
    func outcome(_ candidate: Candidate, _ seed: UInt64) async throws -> Outcome {
      var plan = Plan.tiny
      plan.seed = seed
      return try await Trial(candidate, .relaxed, .rooms, plan: plan, in: directory).run()
    }
    let raw = try #require(Candidate.peers.first)
    var record = RunRecord(plan: .tiny, machine: .describe(directory))
    try record.take(try await outcome(.memory, 1))
    try record.take(try await outcome(raw, 1))
    let other = try await outcome(raw, 2)
    #expect(throws: BenchmarkFailure.self) { try record.take(other) }
    #expect(record.outcomes.count == 2)
    // The queue counts too, not the tree alone.
    #expect(record.outcomes[0].digests[0].writes > 0)
    #expect(record.outcomes[0].digests[0].leaves > 6 * 400)
  }

  @Test(arguments: [PEER_LMDB, PEER_SQLITE, PEER_LEVELDB].filter { peer_is_built_in($0) })
  func `A raw engine gives back rows in order, both ways, and forgets what is cleared`(
    _ kind: peer_kind
  ) async throws {
    let own = "\(directory)/conifer-bench-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: own) }
    let engine = RowEngine(try PeerStore(kind, own, PEER_PROCESS))
    let rooms = Rooms(count: 3, seed: 5)
    for room in 0..<3 {
      try await engine.loading(Rooms.path(room), rooms.node(room), use: 1).run()
    }
    #expect(try engine.leaves("rooms/r1") == 400)
    let big = rooms.wide(500)
    try await engine.storing("rooms/r1", big).run()
    #expect(try engine.leaves("rooms/r1") == 2000)
    #expect(try await engine.makeIndex(of: "rooms/r1", by: "ts", big))
    let scanned = try engine.last(50, by: "ts", of: "rooms/r1", indexed: false)
    #expect(try engine.last(50, by: "ts", of: "rooms/r1", indexed: true) == scanned)
    #expect(scanned.count == 50)
    try await engine.storing("rooms/r1", .empty).run()
    #expect(try engine.leaves("rooms/r1") == 0)
    #expect(try engine.digest().leaves == 800)
    let first = try #require(rooms.node(2).firstChild)
    let path = "rooms/r2/\(first.key.string)/text"
    #expect(try engine.leaf(path) == first.node[Key("text")].leaf)
    #expect(try engine.leaf(path + "x") == nil)
    try await engine.close()
  }

  @Test func `Commits that hold their thread and commits that are awaited give the same`()
    async throws
  {
    let awaited = Operation.awaiting { 7 }
    #expect(try await awaited.run() == 7)
    #expect(try await onThread { try awaited.runBlocking() } == 7)
    let failing = Operation.awaiting { throw RowError("no") }
    await #expect(throws: RowError.self) { try await onThread { try failing.runBlocking() } }
  }
}
