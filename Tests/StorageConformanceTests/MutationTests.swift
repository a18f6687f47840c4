import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferRocksDB
import ConiferSQLite
import ConiferStorage
import Testing

@testable import StorageConformance

/// `CONIFER_MUTATIONS=all` tries all faults over every store, as `Scripts/mutate` does.
@Suite("The kit sees each broken promise of an ordered store")
struct MutationTests {
  static let ofShelf = ShelfStore.factory()

  @Test("Over memory that outlives its closing", arguments: StoreMutation.all(for: ofShelf))
  func shelf(_ mutation: StoreMutation) async throws { try await mutation.run(Self.ofShelf) }

  static let ofMemory = StoreFactory(
    name: "memory", declared: Tested.memory(.none).declared
  ) { (_) throws(StoreError) in MemoryStore() }

  @Test(
    "Over memory", .enabled(if: Variable.asksForAllMutations),
    arguments: StoreMutation.all(for: ofMemory))
  func memory(_ mutation: StoreMutation) async throws { try await mutation.run(Self.ofMemory) }

  static let ofLog = StoreFactory(
    name: "log", declared: Tested.log(.none).declared, ownerFile: "owner"
  ) { (path) throws(StoreError) in try LogStore(at: path) }

  @Test(
    "Over the log", .enabled(if: Variable.asksForAllMutations),
    arguments: StoreMutation.all(for: ofLog))
  func log(_ mutation: StoreMutation) async throws { try await mutation.run(Self.ofLog) }

  static let ofLMDB = StoreFactory(
    name: "lmdb", declared: Tested.lmdb(.none).declared, ownerFile: "owner"
  ) { (path) throws(StoreError) in try LMDBStore(at: path) }

  @Test(
    "Over LMDB", .enabled(if: Variable.asksForAllMutations),
    arguments: StoreMutation.all(for: ofLMDB))
  func lmdb(_ mutation: StoreMutation) async throws { try await mutation.run(Self.ofLMDB) }

  static let ofSQLite = StoreFactory(
    name: "sqlite", declared: Tested.sqlite(.none).declared, ownerFile: "owner"
  ) { (path) throws(StoreError) in try SQLiteStore(at: path) }

  @Test(
    "Over SQLite", .enabled(if: Variable.asksForAllMutations),
    arguments: StoreMutation.all(for: ofSQLite))
  func sqlite(_ mutation: StoreMutation) async throws { try await mutation.run(Self.ofSQLite) }

  #if RocksDB
    static let ofRocksDB = StoreFactory(
      name: "rocksdb",
      declared: StoreTraits(
        longestKey: 1 << 16, bestValueSize: 16 << 10, writeQuantum: 256, strongest: .power,
        isPersistent: true),
      ownerFile: "owner", worksInBackground: true
    ) { (path) throws(StoreError) in try RocksDBStore(at: path) }

    @Test(
      "Over RocksDB", .enabled(if: Variable.asksForAllMutations),
      arguments: StoreMutation.all(for: ofRocksDB))
    func rocksdb(_ mutation: StoreMutation) async throws { try await mutation.run(Self.ofRocksDB) }
  #endif

  #if os(Linux)
    /// Faults that only a power loss or a failing disk shows, of each kind one.
    static let crashing = StoreMutation.every.filter {
      [
        "Every 64th batch is two commits", "Closing syncs nothing",
        "Hardening returns before it has synced", "Suspending that failed returns",
      ].contains($0.name)
    }

    @Test("Over a log whose power is cut, or whose disk fails", arguments: crashing)
    func crashes(_ mutation: StoreMutation) async throws { try await mutation.run(Self.ofLog) }
  #endif

  /// The stores that remember what some faults need, without a fault.
  @Test(
    "The wrapper keeps the contract", arguments: StoreCheck.all(for: ofShelf),
    [MutationHistory.Kept.nothing, .undo, .batches])
  func wrapper(_ check: StoreCheck, _ kept: MutationHistory.Kept) async throws {
    // What it remembers counts as live too.
    if kept != .nothing, check.name == "Size counts live data" { return }
    let result = await check.result(Self.ofShelf.mutated(MutationSite(nil, keeping: kept)))
    #expect(result.outcome != .failed, "\(result)")
  }

  @Test("Mutations have names of their own, and name checks of the kit")
  func names() {
    let names = StoreMutation.every.map(\.name)
    #expect(Set(names).count == names.count)
    let checks = Set(StoreCheck.every.map(\.name))
    for mutation in StoreMutation.every {
      #expect(!mutation.checks.isEmpty && checks.isSuperset(of: mutation.checks), "\(mutation)")
    }
  }

  @Test("A fault that no check sees is told")
  func missed() async throws {
    // What a store in memory writes is not watched.
    let mutation = StoreMutation("It writes too much", "none", .life(.overstatesQuantum))
    let result = await mutation.result(Self.ofShelf)
    #expect(result.outcome == .failed && result.anomaly == .missed, "\(result)")
    #expect(result.counts["times", default: 0] > 0)
    await #expect(throws: ConformanceFailure.self) {
      try await Variable.$values.withValue(["CONIFER_REPORT": ""]) {
        try await mutation.run(Self.ofShelf)
      }
    }
  }

  @Test("A fault that never happens is told, and is not taken for caught")
  func neverHappened() async throws {
    let mutation = StoreMutation("It cuts giants", "none", .edits(.cutsKeys(at: 1 << 30)))
    let result = await mutation.result(Self.ofShelf)
    #expect(result.outcome == .failed && result.anomaly == .neverHappened, "\(result)")
  }

  @Test("A check that fails without the fault too counts for nothing")
  func unbroken() async throws {
    let broken = MutationSite(.edits(.losesEmptyValues), keeping: .nothing)
    let factory = ShelfStore.factory("shelf without empty values").mutated(broken)
    let mutation = try #require(
      StoreMutation.every.first { $0.name == "The empty key is not kept" })
    let result = await mutation.result(factory)
    #expect(result.outcome == .failed, "\(result)")
    #expect(result.reason?.contains("fails without the fault too") == true, "\(result)")
  }

  @Test("The variable names all mutations, or is refused")
  func variable() async throws {
    let few = StoreMutation.all(for: Self.ofLog).count
    Variable.$values.withValue(["CONIFER_MUTATIONS": "all"]) {
      #expect(StoreMutation.all(for: Self.ofLog).count > few || few > 70)
    }
    let wrong = ["CONIFER_MUTATIONS": "some", "CONIFER_REPORT": ""]
    await Variable.$values.withValue(wrong) {
      let all = StoreMutation.all(for: Self.ofLog)
      #expect(all.count == 1)
      let failure = await #expect(throws: ConformanceFailure.self) {
        try await all.first?.run(Self.ofLog)
      }
      #expect(failure?.message.contains("CONIFER_MUTATIONS=some is not valid. Set ") == true)
    }
  }
}
