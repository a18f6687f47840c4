import Conifer
import ConiferKeyValue
public import ConiferStorage
import ConiferTree
import Foundation

/// Measures the client's cost above its backend: the same rooms are loaded and read with it and
/// without it, alternately.
public struct ClientComparison: Sendable {
  /// What takes part.
  public struct Backend: Sendable {
    /// The name in tables.
    public let name: String
    let configuration: @Sendable (String, StorageOptions) -> StorageConfiguration

    /// A backend with a name for tables.
    public init(
      _ name: String,
      _ configuration: @escaping @Sendable (String, StorageOptions) -> StorageConfiguration
    ) {
      self.name = name
      self.configuration = configuration
    }
  }

  /// Milliseconds of a room on the backend and on the client, and their ratio: each the median of the
  /// rounds.
  public struct Figure: Sendable {
    /// What is measured.
    public let title: String
    /// Milliseconds of a room without the client.
    public let backend: Double
    /// Milliseconds with it.
    public let client: Double
    /// The median of the rounds' ratios of the time with the client to the time without it.
    public let ratio: Double
    /// Whether both have as many threads, so that the ratio is what the client costs.
    public let isEven: Bool

    /// One line of a table.
    public var line: String {
      String(
        format: "%@: backend %.3f ms, client %.3f ms, ratio %.2f", title, backend, client, ratio)
    }
  }

  private static let namespace = "rooms"
  private let backend: Backend
  private let directory: String
  private let rounds: Int
  private let rooms: [(path: Path, node: Node)]

  /// A comparison.
  ///
  /// - Parameters:
  ///   - directory: where stores are made and removed.
  ///   - rooms: how many rooms of 400 leaves there are.
  ///   - rounds: how often each is measured.
  public init(_ backend: Backend, in directory: String, rooms: Int, rounds: Int) {
    self.backend = backend
    self.directory = directory
    self.rounds = rounds
    let source = Rooms(count: rooms, seed: 1)
    self.rooms = (0..<rooms).map { (Path(Rooms.path($0)), source.node($0)) }
  }

  /// Measures; returns wall-clock time and processor time of loading and of reading.
  ///
  /// A client has one thread for its engine and its storage, so it is compared with a backend that is
  /// read on one thread, and beside that with one that is read on all.
  public func run() async throws -> [Figure] {
    var load: [Pair] = []
    var read: [Pair] = []
    var beside: [Pair] = []
    for round in 0...rounds {
      let (own, with) = (path("backend"), path("client"))
      defer {
        for path in [own, with] { try? FileManager.default.removeItem(atPath: path) }
      }
      let loads = Pair(try await loadBackend(own), try await loadClient(with))
      let alone = try await readBackend(with)
      let reads = Pair(alone, try await readClient(with))
      let all = Pair(try await readBackend(with, atOnce: 10), reads.client)
      // The first round warms up.
      guard round > 0 else { continue }
      load.append(loads)
      read.append(reads)
      beside.append(all)
    }
    return figures("load", load) + figures("read", read)
      + figures("read, the backend by ten at once,", beside, isEven: false)
  }

  // MARK: Rounds

  private func loadBackend(_ directory: String) async throws -> Sample {
    let store = try storage(directory).open()
    let tree = try await store.tree(named: Self.namespace)
    let watch = Watch()
    try await inGroups { path, node in
      let record = TrackedQuery(tree: tree, path: path, isComplete: true)
      _ = try await store.commit([.overwrite(tree, path, node), .saveQuery(record)], .process)
    }
    let sample = watch.sample
    try await store.close()
    return sample
  }

  private func loadClient(_ directory: String) async throws -> Sample {
    let nodes = Dictionary(uniqueKeysWithValues: rooms.map { ($0.path, $0.node) })
    let database = Database(
      DatabaseConfiguration(
        namespace: Self.namespace, storage: storage(directory),
        transport: CannedTransport(nodes)))
    // Connected from here on.
    _ = await value(of: rooms[0].path, database)
    let watch = Watch()
    try await inGroups { path, _ in _ = await value(of: path, database) }
    let sample = watch.sample
    await database.close()
    return sample
  }

  private func readBackend(_ directory: String, atOnce: Int = 1) async throws -> Sample {
    let store = try storage(directory).open()
    let tree = try await store.tree(named: Self.namespace)
    let watch = Watch()
    try await inGroups(of: atOnce) { path, node in
      let found = try store.read { (view) throws(StoreError) in try view.node(tree, path) }
      guard found.childCount == node.childCount else {
        throw BenchmarkFailure.lost(backend.name, "what was given")
      }
    }
    let sample = watch.sample
    try await store.close()
    return sample
  }

  private func readClient(_ directory: String) async throws -> Sample {
    let database = Database(
      DatabaseConfiguration(namespace: Self.namespace, storage: storage(directory)))
    _ = try await database.pendingWriteTotals()
    let watch = Watch()
    try await inGroups { path, node in
      let found = await value(of: path, database)
      guard found.childCount == node.childCount else {
        throw BenchmarkFailure.lost(backend.name, "what was given")
      }
    }
    let sample = watch.sample
    await database.close()
    return sample
  }

  /// Calls a closure for all rooms, ten at a time by default, as an app's screen requests them.
  private func inGroups(
    of count: Int = 10, _ body: @escaping @Sendable (Path, Node) async throws -> Void
  ) async throws {
    for start in stride(from: 0, to: rooms.count, by: count) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for room in rooms[start..<min(start + count, rooms.count)] {
          group.addTask { try await body(room.path, room.node) }
        }
        try await group.waitForAll()
      }
    }
  }

  private func value(of path: Path, _ database: Database) async -> Node {
    await withCheckedContinuation { continuation in
      database.reference(withPath: path.description).observeSingleEvent(of: .value) {
        continuation.resume(returning: $0.node)
      }
    }
  }

  private func storage(_ directory: String) -> StorageConfiguration {
    var options = StorageOptions()
    options.budget = nil
    options.durability = .process
    return backend.configuration(directory, options)
  }

  private func path(_ name: String) -> String {
    "\(directory)/client-\(backend.name)-\(name)-\(UUID().uuidString)"
  }

  // MARK: Figures

  private struct Pair {
    let backend: Sample
    let client: Sample

    init(_ backend: Sample, _ client: Sample) {
      self.backend = backend
      self.client = client
    }
  }

  private func figures(_ what: String, _ pairs: [Pair], isEven: Bool = true) -> [Figure] {
    [("wall", \Sample.wall), ("processor", \Sample.processor)].map { name, field in
      let room = 1000 / Double(rooms.count)
      return Figure(
        title: "\(backend.name) \(what) \(name)",
        backend: median(pairs.map { $0.backend[keyPath: field] * room }),
        client: median(pairs.map { $0.client[keyPath: field] * room }),
        ratio: median(
          pairs.map { $0.client[keyPath: field] / max($0.backend[keyPath: field], 1e-9) }),
        isEven: isEven)
    }
  }
}

/// Seconds by the wall's clock and of this process on the processor.
struct Sample: Sendable {
  var wall: Double
  var processor: Double

  /// Both in another unit.
  func scaled(_ factor: Double) -> Sample {
    Sample(wall: wall * factor, processor: processor * factor)
  }
}

/// Measures from its making on.
struct Watch {
  private let start = ContinuousClock.now
  private let processor = SystemFigures.ownProcessorTime

  var sample: Sample {
    Sample(
      wall: (ContinuousClock.now - start).seconds,
      processor: SystemFigures.ownProcessorTime - processor)
  }

  /// Seconds by the wall's clock until a time that was noted meanwhile.
  func wall(until end: ContinuousClock.Instant) -> Double { (end - start).seconds }
}

/// The value in the middle.
func median(_ values: [Double]) -> Double {
  let sorted = values.sorted()
  return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
}
