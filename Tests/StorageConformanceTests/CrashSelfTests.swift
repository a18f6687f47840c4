import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore
import ConiferLog
import ConiferStorage
import ConiferTree
import StorageConformance
import Synchronization
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A log that keeps the contract but for one flaw that only a crash shows.
private final class FragileStore: OrderedStore {
  enum Flaw: Sendable, CaseIterable {
    /// Says that a commit is durable, and syncs nothing.
    case liesAboutSync
    /// Makes two commits of one batch.
    case tearsBatches
    /// Makes a later commit of what a batch does to rows of indexes.
    case defersIndexes
    /// Makes a later commit of what a batch does to pins.
    case defersPins
    /// Syncs nothing when it is hardened.
    case hardensNothing
    /// Syncs the first 50 commits alone.
    case tiresOfSyncing
    /// Makes two commits of every 32nd batch.
    case tearsSome
    /// Says that something is damaged, whenever it is opened.
    case inventsDamage
  }

  let base: LogStore
  let flaw: Flaw
  private let made = Atomic(0)

  init(_ flaw: Flaw, at path: String) throws(StoreError) {
    self.flaw = flaw
    base = try LogStore(at: path)
  }

  var traits: StoreTraits { base.traits }

  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    let number = made.add(1, ordering: .relaxed).newValue
    switch flaw {
    case .liesAboutSync: return try base.apply(batch, min(durability, .process))
    case .tiresOfSyncing:
      return try base.apply(batch, number > 50 ? min(durability, .process) : durability)
    case .tearsSome:
      guard number % 32 == 0 else { return try base.apply(batch, durability) }
      return try applyTwice(batch, durability) { index, _ in index >= batch.edits.count / 2 }
    case .hardensNothing, .inventsDamage: return try base.apply(batch, durability)
    case .tearsBatches:
      return try applyTwice(batch, durability) { index, _ in index >= batch.edits.count / 2 }
    case .defersIndexes: return try applyTwice(batch, durability) { $1 == Spaces.indexes }
    case .defersPins: return try applyTwice(batch, durability) { $1 == Spaces.pins }
    }
  }

  /// Makes two commits, of which the second one has the edits that are late.
  private func applyTwice(
    _ batch: Batch, _ durability: Durability, isLate: (Int, Space) -> Bool
  ) throws(StoreError) -> CommitID {
    var halves = [Batch(), Batch()]
    for (index, edit) in batch.edits.enumerated() {
      switch edit {
      case .put(let space, let key, let value):
        halves[isLate(index, space) ? 1 : 0].put(space, key, value)
      case .delete(let space, let key): halves[isLate(index, space) ? 1 : 0].delete(space, key)
      case .clear(let space, let from, let to):
        halves[isLate(index, space) ? 1 : 0].clear(space, from: from, to: to)
      }
    }
    _ = try base.apply(halves[0], durability)
    return try base.apply(halves[1], durability)
  }

  func harden(_ upTo: CommitID) throws(StoreError) {
    switch flaw {
    case .liesAboutSync, .hardensNothing: break
    default: try base.harden(upTo)
    }
  }
  func view() throws(StoreError) -> any OrderedView { try base.view() }
  func size() throws(StoreError) -> StoreSize { try base.size() }
  func tidy(_ slice: Duration) throws(StoreError) -> Bool { try base.tidy(slice) }
  func suspend() throws(StoreError) { try base.suspend() }
  func resume() throws(StoreError) { try base.resume() }
  func close() throws(StoreError) { try base.close() }

  static func factory(_ flaw: Flaw, keepsDocuments: Bool = false) -> BackendFactory {
    let log = Tested.log(.none)
    return BackendFactory(
      name: "fragile", declared: log.declared, options: log.options, evicts: true,
      keepsDocuments: keepsDocuments, verifies: keepsDocuments
    ) { (directory, options) throws(StoreError) in
      try PackedBackend(FragileStore(flaw, at: directory), name: "fragile", options: options)
    }
  }
  var findings: [StoreFinding] {
    guard flaw == .inventsDamage else { return [] }
    return [StoreFinding(file: "log", offset: 0, bytes: 1, words: "This is invented.")]
  }
  func acknowledgeFindings() throws(StoreError) {}
  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool { true }

  /// As an ordered store alone, without an engine.
  static func stores(_ flaw: Flaw) -> StoreFactory {
    StoreFactory(
      name: "fragile", declared: Tested.log(.none).declared, ownerFile: "owner"
    ) { (directory) throws(StoreError) in try FragileStore(flaw, at: directory) }
  }
}

@Suite struct CrashSelfTests {
  #if os(Linux)
    @Test(
      "The kit of ordered stores sees what a crash shows",
      arguments: [
        (FragileStore.Flaw.liesAboutSync, Anomaly.lostAcknowledged),
        (.hardensNothing, .lostAcknowledged), (.tiresOfSyncing, .lostAcknowledged),
        (.tearsBatches, .halfBatch), (.tearsSome, .halfBatch), (.inventsDamage, .wrongReport),
      ])
    private func orderedStore(_ flaw: FragileStore.Flaw, _ anomaly: Anomaly) async throws {
      let factory = FragileStore.stores(flaw)
      let check = try #require(StoreCheck.all(for: factory).first { $0.group == "power loss" })
      let failure = await #expect(throws: ConformanceFailure.self) {
        try await check.run(factory)
      }
      #expect(failure?.anomaly == anomaly, "\(String(describing: failure))")
    }

    /// The checks of power loss but that of recoveries.
    private static func checks(_ factory: BackendFactory) -> [BackendCheck] {
      BackendCheck.all(for: factory).filter {
        $0.group == .powerLoss && !$0.name.contains("recovery")
      }
    }

    @Test func `A store that lies about syncing loses what it acknowledged`() async throws {
      let factory = FragileStore.factory(.liesAboutSync)
      for check in Self.checks(factory) {
        let failure = await #expect(throws: ConformanceFailure.self) {
          try await check.run(factory)
        }
        #expect(failure?.anomaly == .lostAcknowledged, "\(String(describing: failure))")
        #expect(failure?.message.contains("CONIFER_CRASH") == true)
      }
    }

    @Test func `A store that makes two commits of a batch is left with half of one`() async throws {
      let factory = FragileStore.factory(.tearsBatches)
      for check in Self.checks(factory) {
        let failure = await #expect(throws: ConformanceFailure.self) {
          try await check.run(factory)
        }
        // Half of what makes a tree is seen by the store's counts alone; halves of two parts that belong to no
        // one commit are wrong data, records without those that they refer to are found by verifying, a room
        // without the commit that adds it is one that had been evicted, and a tree without its counts cannot be read.
        let anomalies: [Anomaly?] = [
          .halfBatch, .hole, .usageDrift, .wrongData, .broken, .resurrected, .refused,
        ]
        #expect(anomalies.contains(failure?.anomaly), "\(String(describing: failure))")
      }
    }

    /// Runs the check of power loss in a stream of documents, which must fail.
    private static func anomaly(of factory: BackendFactory) async throws -> Anomaly? {
      let check = try #require(
        BackendCheck.all(for: factory).first { $0.name.hasPrefix("evicted documents stay gone") })
      let failure = await #expect(throws: ConformanceFailure.self) {
        try await check.run(factory)
      }
      #expect(failure?.message.contains("power lost after") == true, "\(failure?.message ?? "")")
      return failure?.anomaly
    }

    @Test func `A store that leaves rows of indexes behind in a crash is told`() async throws {
      let factory = FragileStore.factory(.defersIndexes, keepsDocuments: true)
      let anomaly = try await Self.anomaly(of: factory)
      // A row without its document is damage, which a cache mends and tells. Declarations of indexes lag too.
      let anomalies: [Anomaly?] = [
        .broken, .wrongData, .usageDrift, .silentLoss, .refused, .halfBatch,
      ]
      #expect(anomalies.contains(anomaly), "\(String(describing: anomaly))")
    }

    @Test func `A store that loses pins in a crash is told`() async throws {
      let factory = FragileStore.factory(.defersPins, keepsDocuments: true)
      // The opening reports what is gone, which a crash alone may not cost.
      let anomaly = try await Self.anomaly(of: factory)
      #expect(anomaly == .silentLoss || anomaly == .evictedPin, "\(String(describing: anomaly))")
    }

    @Test func `A backend whose evicted documents come back after a crash is told`() async throws {
      #expect(try await Self.anomaly(of: ResurrectingBackend.factory) == .resurrected)
    }

    @Test func `A killed stream of documents in memory alone is lost`() async throws {
      let kills = try Kills(of: Self.forgetfulDocuments)
      defer { kills.finish() }
      var failure: ConformanceFailure?
      // The second store has the stream.
      for kill in 1...9 where failure == nil {
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [directory = kills.directory as String, kill = 20 + kill * 2 - 1 as Int] in
          try await Kills.commit(CrashSelfTests.forgetfulDocuments, in: directory, kill: kill)
        }
        do { try await kills.check(after: 20 + kill * 2 - 1) } catch {
          failure = error as? ConformanceFailure
        }
      }
      #expect(failure?.anomaly == .lostAcknowledged, "\(String(describing: failure))")
      #expect(failure?.message.contains("commits of a stream of documents are there") == true)
    }
  #endif

  @Test(arguments: [0, 60])
  func `A backend that keeps everything in memory does not survive a kill`(
    after before: Int
  ) async throws {
    let kills = try Kills(of: Self.forgetful)
    defer { kills.finish() }
    var failure: ConformanceFailure?
    for kill in 1...9 where failure == nil {
      // Those that are killed after some time; a file operation never comes.
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [directory = kills.directory as String, kill = before + kill * 2 - 1 as Int] in
        try await Kills.commit(CrashSelfTests.forgetful, in: directory, kill: kill)
      }
      do { try await kills.check(after: before + kill * 2 - 1) } catch {
        failure = error as? ConformanceFailure
      }
    }
    #expect(failure?.anomaly == .lostAcknowledged, "\(String(describing: failure))")
  }

  private static var forgetful: BackendFactory { forgetful(keepsDocuments: false) }
  private static var forgetfulDocuments: BackendFactory { forgetful(keepsDocuments: true) }

  private static func forgetful(keepsDocuments: Bool) -> BackendFactory {
    let log = Tested.log(.none)
    return BackendFactory(
      name: "forgetful", declared: log.declared, options: log.options, evicts: keepsDocuments,
      keepsDocuments: keepsDocuments, verifies: keepsDocuments
    ) { (_, options) throws(StoreError) in
      var options = options
      options.durability = .relaxed
      return try PackedBackend(PretendingStore(), name: "forgetful", options: options)
    }
  }
}

/// Memory that says that it is a disk.
private final class PretendingStore: ForwardingStore {
  let base = MemoryStore()
  var traits: StoreTraits { Tested.log(.none).declared }
  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    try base.apply(batch, .relaxed)
  }
  func harden(_ upTo: CommitID) throws(StoreError) {}
}

/// A log whose documents, once evicted, come back with the first commit after it was opened anew.
private final class ResurrectingBackend: EvictingBackend, DocumentBackend {
  /// The documents that were evicted, of all stores.
  private static let evicted = Mutex<[Document]>([])

  private let base: any EvictingBackend
  private let left: Mutex<[Document]>

  static var factory: BackendFactory {
    let log = Tested.log(.none)
    return BackendFactory(
      name: "resurrecting", declared: log.declared, options: log.options, evicts: true,
      keepsDocuments: true
    ) { (directory, options) throws(StoreError) in
      ResurrectingBackend(try log.open(directory, options).evicting())
    }
  }

  private init(_ base: any EvictingBackend) {
    self.base = base
    // One that nothing changed since, and that nobody wrote to.
    left = Mutex(Self.evicted.withLock { Array($0.filter { $0.path.id == "d5" }.prefix(1)) })
  }

  var traits: BackendTraits { base.traits }

  private func documents() throws(StoreError) -> [Document] {
    try readDocuments { (view) throws(StoreError) in
      var all: [Document] = []
      for tree in try view.trees() where tree.order == .documents {
        for collection in try view.collections(tree.id, after: nil, limit: .max) {
          all += try view.documents(tree.id, in: collection, after: nil, limit: .max)
        }
      }
      return all
    }
  }

  func evict(to bytes: Int?, dryRun: Bool) async throws(StoreError) -> EvictionReport {
    let before = try documents()
    let report = try await base.evict(to: bytes, dryRun: dryRun)
    let there = Set(try documents().map(\.path))
    Self.evicted.withLock { $0 += before.filter { !there.contains($0.path) } }
    return report
  }

  func commit(
    _ edits: [StorageEdit], _ durability: Durability
  ) async throws(StoreError) -> CommitReceipt {
    let receipt = try await base.commit(edits, durability)
    let back = left.withLock { left in
      defer { left = [] }
      return left
    }
    guard !back.isEmpty, case .documents(let tree, _)? = edits.first(where: \.isOfDocuments) else {
      return receipt
    }
    _ = try await base.commit([.documents(tree, back.map { .put($0) })], durability)
    return receipt
  }

  @discardableResult
  func setActive(_ isActive: Bool, _ query: QueryID, in tree: TreeID) -> Bool {
    base.setActive(isActive, query, in: tree)
  }
  func observeIncidents(_ handler: (@Sendable () -> Void)?) { base.observeIncidents(handler) }
  func space() throws(StoreError) -> StorageSpace { try base.space() }
  func explain(_ tree: TreeID, _ path: Path) throws(StoreError) -> SpaceExplanation {
    try base.explain(tree, path)
  }
  func tree(named name: String, order: KeyOrder) async throws(StoreError) -> TreeID {
    try await base.tree(named: name, order: order)
  }
  func harden(_ upTo: CommitID) async throws(StoreError) { try await base.harden(upTo) }
  func read<R>(_ body: (any StorageView) throws(StoreError) -> R) throws(StoreError) -> R {
    try base.read(body)
  }
  func readDocuments<R>(
    _ body: (any DocumentView) throws(StoreError) -> R
  ) throws(StoreError) -> R { try base.keepingDocuments().readDocuments(body) }
  func size() throws(StoreError) -> StoreSize { try base.size() }
  func tidy(_ slice: Duration) async throws(StoreError) -> Bool { try await base.tidy(slice) }
  func suspend() async throws(StoreError) { try await base.suspend() }
  func resume() async throws(StoreError) { try await base.resume() }
  func close() async throws(StoreError) { try await base.close() }
}

extension StorageEdit {
  fileprivate var isOfDocuments: Bool {
    if case .documents = self { true } else { false }
  }
}
