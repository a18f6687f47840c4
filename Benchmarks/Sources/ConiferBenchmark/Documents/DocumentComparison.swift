import CPeers
public import ConiferKeyValue
import ConiferStorage
import Foundation

/// Measures documents in backends beside raw SQLite and raw LMDB with a JSON document a row, alternately and at equal
/// durability, and beside the same documents as trees of nodes.
public struct DocumentComparison: Sendable {
  /// How much is done.
  public struct Plan: Codable, Sendable {
    /// How many documents; each commit stores a hundred.
    public var documents = 100_000
    /// How often each is measured.
    public var rounds = 5
    /// How many queries by an index each round asks; each is asked once, and then again.
    public var queries = 100
    /// Writes that wait in other collections while a query is asked.
    public var pending = 10_000
    /// Writes that wait when a store is opened.
    public var queued = 100_000
    /// Queries that are tracked when a store is opened.
    public var targets = 1000
    /// What each commit survives.
    public var durability = "power"

    /// The sizes that are asked for.
    public init() {}

    /// Smaller ones, for the order of things.
    public static var quick: Plan {
      var plan = Plan()
      (plan.documents, plan.queries, plan.pending) = (20_000, 50, 2000)
      (plan.queued, plan.targets) = (20_000, 200)
      return plan
    }

    /// Hardly anything: shows that everything runs.
    public static var tiny: Plan {
      var plan = Plan()
      (plan.documents, plan.rounds, plan.queries, plan.pending) = (500, 1, 2, 50)
      (plan.queued, plan.targets) = (100, 5)
      return plan
    }
  }

  /// The candidate that ratios are to.
  static let reference = "raw SQLite"
  private static let leaves = ", fields as leaves"

  static func isJudged(_ candidate: String) -> Bool {
    !candidate.hasPrefix("raw ") && !candidate.hasSuffix(leaves)
  }

  private struct Candidate {
    let name: String
    var isMeasuredWhole = true
    let open: @Sendable (_ directory: String, _ isNew: Bool) async throws -> any DocumentEngine
  }

  private let plan: Plan
  private let directory: String
  private let candidates: [Candidate]
  private let storages: [(name: String, configuration: @Sendable (String) -> StorageConfiguration)]
  private let progress: @Sendable (String) -> Void

  /// A comparison.
  ///
  /// - Parameters:
  ///   - directory: where stores are made and removed.
  ///   - durability: of each commit.
  ///   - hasLeaves: whether the same documents are measured as trees of nodes too.
  public init(
    _ backends: [ClientComparison.Backend], in directory: String, plan: Plan,
    durability: Durability = .power, hasLeaves: Bool = true,
    progress: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    var plan = plan
    plan.durability = "\(durability)"
    self.plan = plan
    self.directory = "\(directory)/documents-\(UUID().uuidString)"
    self.progress = progress
    storages = backends.map { backend in
      (
        backend.name,
        { directory in
          var options = StorageOptions()
          options.budget = nil
          options.durability = .exactly(durability)
          return backend.configuration(directory, options)
        }
      )
    }
    let level: peer_durability =
      switch durability {
      case .relaxed: PEER_RELAXED
      case .process: PEER_PROCESS
      case .power: PEER_POWER
      }
    var candidates = storages.map { name, configuration in
      Candidate(name: name) { directory, isNew in
        let posts = try await StoredPosts(configuration(directory))
        if isNew { try await posts.declareIndexes() }
        return posts
      }
    }
    for (name, kind) in [(Self.reference, PEER_SQLITE_DOCUMENTS), ("raw LMDB", PEER_LMDB)] {
      candidates.append(
        Candidate(name: name) { directory, _ in
          try RawPosts(kind, directory, level, makesDocuments: true)
        })
    }
    if hasLeaves {
      candidates += storages.map { name, configuration in
        Candidate(name: name + Self.leaves, isMeasuredWhole: false) { directory, isNew in
          let posts = try await LeafPosts(configuration(directory))
          if isNew { try await posts.declareIndexes() }
          return posts
        }
      }
    }
    self.candidates = candidates
  }

  /// Measures all of it.
  ///
  /// - Throws: also when engines do not find the same.
  public func run() async throws -> DocumentRecord {
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var record = DocumentRecord(machine: .describe(directory), plan: plan)
    record.candidates = candidates.map(\.name)
    let posts = try SamplePosts(count: plan.documents, seed: 20).documents.map { Post($0) }
    for round in 0..<plan.rounds { try await measure(round, posts, &record) }
    return record
  }

  private func path(_ name: String) throws -> String {
    let path = "\(directory)/\(name)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  private func copy(_ from: String, _ to: String) throws -> String {
    let target = "\(directory)/\(to)"
    try FileManager.default.copyItem(atPath: from, toPath: target)
    return target
  }

  private func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

  // MARK: A round

  private func measure(
    _ round: Int, _ posts: [Post], _ record: inout DocumentRecord
  ) async throws {
    let first = round % candidates.count
    let order = Array(candidates.indices[first...]) + Array(candidates.indices[..<first])
    var paths: [Int: String] = [:]
    for place in order {
      let candidate = candidates[place]
      progress("round \(round + 1): \(candidate.name) loads")
      let path = try path("\(place)")
      paths[place] = path
      record.add(.load, candidate.name, [try await load(posts, candidate, path)])
      guard candidate.isMeasuredWhole else { continue }
      let other = try self.path("\(place)-unsorted")
      defer { remove(other) }
      var random = Random(seed: UInt64(round))
      record.add(
        .loadUnsorted, candidate.name,
        [try await load(posts.shuffled(using: &random), candidate, other)])
    }
    defer { for path in paths.values { remove(path) } }
    progress("round \(round + 1): queries")
    try await ask(round, order, paths, &record)
    for place in order {
      guard let path = paths[place] else { continue }
      try await measureBytes(candidates[place], path, &record)
    }
    for (place, storage) in storages.enumerated() {
      guard let path = paths[place] else { continue }
      progress("round \(round + 1): \(storage.name) with pending writes")
      try await askBesidePending(storage.name, storage.configuration, path, posts, &record)
    }
    for (place, storage) in storages.enumerated() {
      guard let path = paths[place] else { continue }
      progress("round \(round + 1): \(storage.name) opens with \(plan.queued) writes")
      try await openFull(storage.name, storage.configuration, path, posts, &record)
    }
  }

  private func load(
    _ posts: [Post], _ candidate: Candidate, _ path: String
  ) async throws -> Sample {
    let engine = try await candidate.open(path, true)
    let time = try await onThread {
      let watch = Watch()
      for start in stride(from: 0, to: posts.count, by: 100) {
        try engine.load(posts[start..<min(start + 100, posts.count)])
      }
      return watch.sample
    }
    try await engine.close()
    return time.scaled(1e6 / Double(posts.count))
  }

  private func milliseconds(
    _ engine: any DocumentEngine, _ question: PostQuestion
  ) throws -> (Sample, FoundPosts) {
    let watch = Watch()
    let found = try engine.ask(question)
    return (watch.sample.scaled(1000), found)
  }

  /// Asks all engines the same in turns; each must find the same.
  private func ask(
    _ round: Int, _ order: [Int], _ paths: [Int: String], _ record: inout DocumentRecord
  ) async throws {
    var engines: [(name: String, engine: any DocumentEngine)] = []
    for place in order {
      guard let path = paths[place] else { continue }
      let watch = Watch()
      let engine = try await candidates[place].open(path, false)
      _ = try engine.ask(.author(SamplePosts.author(0)))
      record.add(.open, candidates[place].name, [watch.sample.scaled(1000)])
      engines.append((candidates[place].name, engine))
    }
    var random = Random(seed: UInt64(round))
    let authors = plan.documents / SamplePosts.ofAuthor
    let byAuthor = (0..<plan.queries).map { _ in
      PostQuestion.author(SamplePosts.author(random.below(authors)))
    }
    let byTime = (0..<plan.queries).map { _ in
      PostQuestion.time(SamplePosts.time(random.below(plan.documents - 50)), limit: 50)
    }
    let byScore = (0..<3).map { PostQuestion.score(Int64(SamplePosts.scores / 100 * 99 + $0)) }
    for (work, questions) in [
      (DocumentWork.author, byAuthor), (.authorAgain, byAuthor), (.time, byTime),
      (.timeAgain, byTime), (.score, byScore),
    ] {
      var times: [String: [Sample]] = [:]
      for question in questions {
        var first: (name: String, found: FoundPosts)?
        for (name, engine) in engines {
          let (time, found) = try milliseconds(engine, question)
          times[name, default: []].append(time)
          if let first, first.found != found {
            throw BenchmarkFailure.lost(
              name, "\(question) finds other documents than \(first.name)")
          }
          first = (name, found)
        }
      }
      for (name, own) in times { record.add(work, name, own) }
    }
    for (_, engine) in engines { try await engine.close() }
  }

  private func measureBytes(
    _ candidate: Candidate, _ path: String, _ record: inout DocumentRecord
  ) async throws {
    let engine = try await candidate.open(path, false)
    try await engine.reclaim()
    let count = Double(plan.documents)
    if let bytes = try engine.liveBytes() {
      record.add(.bytes, candidate.name, Double(bytes) / count)
    }
    if let bytes = try engine.indexBytes() {
      record.add(.indexBytes, candidate.name, Double(bytes) / count)
    }
    try await engine.close()
    record.add(.fileBytes, candidate.name, Double(Files.allocatedBytes(path)) / count)
  }

  /// Asks a store and its copy, where writes wait in many collections, the same in turns.
  private func askBesidePending(
    _ name: String, _ configuration: (String) -> StorageConfiguration, _ path: String,
    _ posts: [Post], _ record: inout DocumentRecord
  ) async throws {
    let copied = try copy(path, name + "-pending")
    defer { remove(copied) }
    let alone = try await StoredPosts(configuration(path))
    let beside = try await StoredPosts(configuration(copied))
    let pending = plan.pending
    try await onThread {
      for store in [alone, beside] { try store.loadGroup(posts.prefix(SamplePosts.ofAuthor)) }
      try beside.queue(pending)
    }
    let authors = plan.documents / SamplePosts.ofAuthor
    try compare(name, .authorAlone, .authorBesidePending, &record) { isBeside, number in
      let question = PostQuestion.author(SamplePosts.author(number * 7 % authors))
      return try milliseconds(isBeside ? beside : alone, question)
    }
    try compare(name, .groupAlone, .groupBesidePending, &record) { isBeside, _ in
      let watch = Watch()
      let found = try (isBeside ? beside : alone).askGroup()
      return (watch.sample.scaled(1000), found)
    }
    try await alone.close()
    try await beside.close()
  }

  /// Asks a store and its copy the same; each of the two is asked first in every other turn.
  private func compare(
    _ name: String, _ work: DocumentWork, _ workBeside: DocumentWork,
    _ record: inout DocumentRecord,
    _ ask: (_ isBeside: Bool, _ number: Int) throws -> (Sample, FoundPosts)
  ) throws {
    var times: (alone: [Sample], beside: [Sample]) = ([], [])
    for number in 0..<(2 * plan.queries) {
      let isFirst = number % 2 == 0
      let one = try ask(!isFirst, number)
      let two = try ask(isFirst, number)
      let (own, other) = isFirst ? (one, two) : (two, one)
      guard own.1 == other.1, own.1.count == SamplePosts.ofAuthor else {
        throw BenchmarkFailure.lost(name, "pending writes elsewhere change an answer")
      }
      times.alone.append(own.0)
      times.beside.append(other.0)
    }
    record.add(work, name, times.alone)
    record.add(workBeside, name, times.beside)
  }

  private func openFull(
    _ name: String, _ configuration: @escaping @Sendable (String) -> StorageConfiguration,
    _ path: String, _ posts: [Post], _ record: inout DocumentRecord
  ) async throws {
    let filled = try await StoredPosts(configuration(path))
    let (queued, targets) = (plan.queued, plan.targets)
    try await onThread {
      try filled.queue(queued)
      try filled.track(targets, posts)
    }
    try await filled.close()
    var times: [Sample] = []
    for _ in 0..<3 {
      let watch = Watch()
      let engine = try await StoredPosts(configuration(path))
      let found = try engine.ask(.author(SamplePosts.author(1)))
      times.append(watch.sample.scaled(1000))
      guard found.count == SamplePosts.ofAuthor else {
        throw BenchmarkFailure.lost(name, "what was given")
      }
      try await engine.close()
    }
    record.add(.openFull, name, times)
  }
}
