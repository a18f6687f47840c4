import ConiferKeyValue
import ConiferLog
import ConiferStorage
import StorageConformance
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
  enum Flaw: Sendable {
    /// Says that a commit is durable, and syncs nothing.
    case liesAboutSync
    /// Makes two commits of one batch.
    case tearsBatches
  }

  let base: LogStore
  let flaw: Flaw

  init(_ flaw: Flaw, at path: String) throws(StoreError) {
    self.flaw = flaw
    base = try LogStore(at: path)
  }

  var traits: StoreTraits { base.traits }

  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    switch flaw {
    case .liesAboutSync: return try base.apply(batch, min(durability, .process))
    case .tearsBatches:
      var halves = [Batch(), Batch()]
      for (index, edit) in batch.edits.enumerated() {
        let half = index < batch.edits.count / 2 ? 0 : 1
        switch edit {
        case .put(let space, let key, let value): halves[half].put(space, key, value)
        case .delete(let space, let key): halves[half].delete(space, key)
        case .clear(let space, let from, let to): halves[half].clear(space, from: from, to: to)
        }
      }
      _ = try base.apply(halves[0], durability)
      return try base.apply(halves[1], durability)
    }
  }

  func harden(_ upTo: CommitID) throws(StoreError) {
    if flaw != .liesAboutSync { try base.harden(upTo) }
  }
  func view() throws(StoreError) -> any OrderedView { try base.view() }
  func size() throws(StoreError) -> StoreSize { try base.size() }
  func tidy(_ slice: Duration) throws(StoreError) -> Bool { try base.tidy(slice) }
  func suspend() throws(StoreError) { try base.suspend() }
  func resume() throws(StoreError) { try base.resume() }
  func close() throws(StoreError) { try base.close() }

  static func factory(_ flaw: Flaw) -> BackendFactory {
    let log = Tested.log(.none)
    return BackendFactory(
      name: "fragile", declared: log.declared, options: log.options, evicts: true
    ) { (directory, options) throws(StoreError) in
      try PackedBackend(FragileStore(flaw, at: directory), name: "fragile", options: options)
    }
  }
  var findings: [StoreFinding] { [] }
  func acknowledgeFindings() throws(StoreError) {}
  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool { true }
}

@Suite struct CrashSelfTests {
  #if os(Linux)
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
        // Half of what makes a tree is seen by the store's counts alone.
        let anomalies: [Anomaly?] = [.halfBatch, .hole, .usageDrift]
        #expect(anomalies.contains(failure?.anomaly), "\(String(describing: failure))")
      }
    }
  #endif

  @Test(arguments: [0, 40])
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

  private static var forgetful: BackendFactory {
    let log = Tested.log(.none)
    return BackendFactory(
      name: "forgetful", declared: log.declared, options: log.options
    ) { (_, options) throws(StoreError) in
      var options = options
      options.durability = .relaxed
      return try PackedBackend(PretendingStore(), name: "forgetful", options: options)
    }
  }
}

/// Memory that says that it is a disk.
private final class PretendingStore: OrderedStore {
  let base = MemoryStore()
  var traits: StoreTraits { Tested.log(.none).declared }
  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
    try base.apply(batch, .relaxed)
  }
  func harden(_ upTo: CommitID) throws(StoreError) {}
  func view() throws(StoreError) -> any OrderedView { try base.view() }
  func size() throws(StoreError) -> StoreSize { try base.size() }
  func tidy(_ slice: Duration) throws(StoreError) -> Bool { try base.tidy(slice) }
  func suspend() throws(StoreError) { try base.suspend() }
  func resume() throws(StoreError) { try base.resume() }
  func close() throws(StoreError) { try base.close() }
  var findings: [StoreFinding] { [] }
  func acknowledgeFindings() throws(StoreError) {}
  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool { true }
}
