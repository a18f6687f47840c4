import Conifer
import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Foundation

/// Measures the cost of a concurrent eviction for a client's writes: the same writes, one after the
/// other, go to a store that is far over its budget and to one without a budget.
public struct EvictionCost: Sendable {
  private static let namespace = "evict"
  private static let budget = StorageOptions.smallestBudget
  private let backend: ClientComparison.Backend
  private let directory: String
  private let rooms: Int

  /// A measurement.
  ///
  /// - Parameters:
  ///   - directory: where stores are made and removed.
  ///   - rooms: how many rooms of 400 leaves are cached when it begins.
  public init(_ backend: ClientComparison.Backend, in directory: String, rooms: Int) {
    self.backend = backend
    self.directory = directory
    self.rooms = rooms
  }

  /// Measures; one line each for the store without a budget and for the one that evicts.
  ///
  /// - Throws: also when nothing was evicted.
  public func run() async throws -> [String] {
    let root = "\(directory)/evict-\(backend.name)-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: root) }
    var lines: [String] = []
    for budget in [nil, Self.budget] {
      let path = "\(root)/\(budget ?? 0)"
      let full = try await fill(path)
      let (waits, left) = try await write(path, budget)
      guard budget == nil || left < full / 2 else {
        throw BenchmarkFailure.lost(backend.name, "its reason to evict")
      }
      let sorted = waits.sorted()
      lines.append(
        String(
          format:
            "%@ write %@: median %.2f ms, 99 %% %.2f ms, longest %.2f ms (%d writes, cache %.1f to %.1f MB)",
          backend.name, budget == nil ? "without eviction" : "beside one", sorted[sorted.count / 2],
          sorted[sorted.count * 99 / 100], sorted[sorted.count - 1], sorted.count,
          Double(full) / 1e6, Double(left) / 1e6))
    }
    return lines
  }

  /// Caches rooms; what they take.
  private func fill(_ path: String) async throws -> Int {
    let store = try storage(path, nil).open()
    let tree = try await store.tree(named: Self.namespace)
    let source = Rooms(count: rooms, seed: 1)
    for number in 0..<rooms {
      let path = Path(Rooms.path(number))
      let record = TrackedQuery(tree: tree, path: path, isComplete: true)
      _ = try await store.commit(
        [.overwrite(tree, path, source.node(number)), .saveQuery(record)], .process)
    }
    let bytes = try store.evicting().space().cache
    try await store.close()
    return bytes
  }

  /// Milliseconds until each write was queued, and the cache's size at the end.
  private func write(_ path: String, _ budget: Int?) async throws -> ([Double], Int) {
    let database = Database(
      DatabaseConfiguration(namespace: Self.namespace, storage: storage(path, budget)))
    _ = try await database.pendingWriteTotals()
    var waits: [Double] = []
    for number in 0..<1000 {
      let watch = Watch()
      _ = try await database.reference(withPath: "w/k\(number)").enqueue(.set(number)).id
      waits.append(watch.sample.wall * 1000)
    }
    await database.close()
    let store = try storage(path, nil).open()
    let left = try store.evicting().space().cache
    try await store.close()
    return (waits, left)
  }

  private func storage(_ directory: String, _ budget: Int?) -> StorageConfiguration {
    var options = StorageOptions()
    options.budget = budget
    options.durability = .process
    return backend.configuration(directory, options)
  }
}
