import CCounter
import ConiferKeyValue
import ConiferTree
import Foundation

/// The hot paths' requests to the system, counted and never timed: they are equal on slow and fast
/// machines.
public struct OperationCounts: Codable, Sendable, Equatable {
  /// By candidate and then by what was counted, for each operation: `enqueue.flushes`,
  /// `enqueue.bytes`, `room.allocations` and their kin.
  public var candidates: [String: [String: Double]]

  /// Counts by candidate.
  public init(_ candidates: [String: [String: Double]] = [:]) { self.candidates = candidates }

  /// Counts a candidate's hot paths, in this process: nothing else may run in it.
  ///
  /// - Throws: what the engine throws, and `BenchmarkFailure.process` where nothing can be counted.
  public mutating func count(_ candidate: Candidate, in directory: String) async throws {
    guard counter_is_available() else {
      throw BenchmarkFailure.process("calls of the C library cannot be counted on this system")
    }
    let own = "\(directory)/conifer-bench-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: own) }
    let engine = try await candidate.open(own, .power)
    do {
      candidates[candidate.name] = try await Self.counts(engine)
    } catch {
      try? await engine.close()
      throw error
    }
    try await engine.close()
  }

  private static func counts(_ engine: any Engine) async throws -> [String: Double] {
    let rooms = Rooms(count: 24, seed: 2026)
    var counts: [String: Double] = [:]
    let loads = (0..<rooms.count).map {
      engine.loading(Rooms.path($0), rooms.node($0), use: UInt64($0 + 1))
    }
    try await commits(loads, "load", per: Double(Rooms.leaves), &counts)
    counts["live.bytes"] =
      Double(try engine.liveBytes() ?? 0) / Double(rooms.count * Rooms.leaves)
    let writes = (0..<100).map { SmallWrite(lane: 0, number: $0, rooms: rooms) }
    let numbers = try await commits(
      writes.map { engine.enqueueing([$0]) }, "enqueue", per: 1, &counts)
    try await commits(
      zip(writes, numbers).map { engine.acknowledging($0, $1) }, "acknowledge", per: 1, &counts)
    try await commits(
      (0..<100).map { engine.updating([("rooms/r\($0 % 24)/topic", Int64($0))]) }, "update", per: 1,
      &counts)
    try reads("room", 10, &counts) { _ = try engine.leaves(Rooms.path(7)) }
    var random = Random(seed: 1)
    let path = Rooms.leafPath(7, rooms.node(7), &random)
    try reads("leaf", 50, &counts) { _ = try engine.leaf(path) }
    return counts
  }

  @discardableResult
  private static func commits(
    _ operations: [Operation], _ name: String, per units: Double, _ counts: inout [String: Double]
  ) async throws -> [UInt64] {
    let before = counter_read()
    var (numbers, bytes): ([UInt64], [UInt64]) = ([], [])
    var last = before
    for operation in operations {
      numbers.append(try await operation.run())
      let now = counter_read()
      bytes.append(UInt64(now.bytes - last.bytes))
      last = now
    }
    counts["\(name).flushes"] =
      Double(last.flushes - before.flushes) / Double(operations.count)
    // The middle one, as some commits do more than their own work: a log folds, a tree splits. With those one limit
    // would let all others grow to many times their size.
    counts["\(name).bytes"] = Double(bytes.sorted()[bytes.count / 2]) / units
    return numbers
  }

  private static func reads(
    _ name: String, _ calls: Int, _ counts: inout [String: Double], _ body: () throws -> Void
  ) throws {
    // One-time work is not counted.
    for _ in 0..<3 { try body() }
    let before = counter_read()
    counter_count_allocations(true)
    defer { counter_count_allocations(false) }
    for _ in 0..<calls { try body() }
    let after = counter_read()
    counts["\(name).allocations"] =
      Double(after.allocations - before.allocations) / Double(calls)
  }
}
