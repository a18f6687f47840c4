import Conifer
import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Foundation

/// Measures the cost of a long queue: opening it compared with an empty one, and draining it
/// compared with a short one.
public struct QueueComparison: Sendable {
  private static let namespace = "queue"
  private let backend: ClientComparison.Backend
  private let directory: String
  private let length: Int
  private let rounds: Int

  /// A comparison.
  ///
  /// - Parameters:
  ///   - directory: where stores are made and removed.
  ///   - length: how many writes the long queue holds; the short one holds a tenth.
  ///   - rounds: how often opening is measured.
  public init(
    _ backend: ClientComparison.Backend, in directory: String, length: Int, rounds: Int
  ) {
    self.backend = backend
    self.directory = directory
    self.length = length
    self.rounds = rounds
  }

  /// Measures; one line a figure.
  ///
  /// - Throws: also when writes came in another order, or did not come.
  public func run() async throws -> [String] {
    let root = "\(directory)/queue-\(backend.name)-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: root) }
    for (name, count) in [("empty", 0), ("short", length / 10), ("long", length)] {
      try await fill("\(root)/\(name)", count)
    }
    var opened: [(empty: Double, long: Double)] = []
    for _ in 0...rounds {
      opened.append((try await open("\(root)/empty"), try await open("\(root)/long")))
    }
    opened.removeFirst()
    let short = try await drain("\(root)/short", length / 10)
    let long = try await drain("\(root)/long", length)
    let (a, b) = (median(opened.map(\.empty)), median(opened.map(\.long)))
    return [
      String(
        format: "%@ open: empty queue %.2f ms, %d writes %.2f ms, ratio %.2f", backend.name,
        a * 1000, length, b * 1000, median(opened.map { $0.long / $0.empty })),
      String(
        format: "%@ drain: %d writes %.1f us each, %d writes %.1f us each, ratio %.2f",
        backend.name, length / 10, short.each, length, long.each, long.each / short.each),
      String(
        format: "%@ memory while draining: +%.1f MB and +%.1f MB", backend.name, short.memory,
        long.memory),
    ]
  }

  private func fill(_ directory: String, _ count: Int) async throws {
    let store = try storage(directory).open()
    let lane = Lane(tree: try await store.tree(named: Self.namespace))
    for start in stride(from: 0, to: count, by: 1000) {
      let edits = (start..<min(start + 1000, count)).map { number in
        StorageEdit.enqueue(
          lane, .set(Path("room\(number % 97)/k\(number)"), Node(.integer(Int64(number)))))
      }
      _ = try await store.commit(edits, .process)
    }
    try await store.close()
  }

  /// Seconds until the first answer of a database.
  private func open(_ directory: String) async throws -> Double {
    let watch = Watch()
    let database = Database(
      DatabaseConfiguration(namespace: Self.namespace, storage: storage(directory)))
    _ = try await database.pendingWriteTotals()
    let seconds = watch.sample.wall
    await database.close()
    return seconds
  }

  /// Microseconds of the processor for each write, and megabytes of memory that came in addition.
  private func drain(
    _ directory: String, _ count: Int
  ) async throws -> (each: Double, memory: Double) {
    let server = CannedTransport()
    let memory = SystemFigures.anonymousMemory
    let watch = Watch()
    let database = Database(
      DatabaseConfiguration(
        namespace: Self.namespace, storage: storage(directory), transport: server))
    var peak = memory
    while try await database.pendingWriteTotals().pending > 0 {
      peak = max(peak, SystemFigures.anonymousMemory)
      try await Task.sleep(for: .milliseconds(20))
    }
    let seconds = watch.sample.processor
    await database.close()
    let written = server.written
    guard written.count == count, written.isInOrder else {
      throw BenchmarkFailure.lost(backend.name, "what was given")
    }
    return (seconds / Double(max(1, count)) * 1e6, Double(peak - memory) / Double(1 << 20))
  }

  private func storage(_ directory: String) -> StorageConfiguration {
    var options = StorageOptions()
    options.durability = .process
    return backend.configuration(directory, options)
  }
}
