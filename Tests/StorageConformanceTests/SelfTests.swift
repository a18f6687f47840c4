import ConiferKeyValue
import ConiferStorage
import StorageConformance
import Testing

@Suite("The kit catches what it must and nothing else")
struct SelfTests {
  static func factory(_ flaw: Flaw?) -> StoreFactory {
    let shelf = Shelf()
    return StoreFactory(
      name: flaw.map { "store that \($0)" } ?? "honest", declared: declared(flaw)
    ) { (directory) throws(StoreError) in try FlawedStore(flaw, shelf, directory) }
  }

  private static func declared(_ flaw: Flaw?) -> StoreTraits {
    var traits = FlawedStore.declared
    if flaw == .hidesPersistence { traits.isPersistent = false }
    return traits
  }

  static let inMemory = StoreFactory(
    name: "memory",
    declared: StoreTraits(
      longestKey: .max, bestValueSize: 16 << 10, writeQuantum: 64, strongest: .relaxed,
      isPersistent: false)
  ) { (_) throws(StoreError) in MemoryStore() }

  @Test("An honest store passes", arguments: StoreCheck.all(for: factory(nil)))
  func honest(_ check: StoreCheck) async throws { try await check.run(Self.factory(nil)) }

  @Test("The memory store passes", arguments: StoreCheck.all(for: inMemory))
  func memory(_ check: StoreCheck) async throws { try await check.run(Self.inMemory) }

  /// The check that names each flaw; others may fail as well.
  static let catchers: [(Flaw, Anomaly, String)] = [
    (.dropsLastEdit, .halfBatch, "A batch changes several spaces at once"),
    (.firstPutWins, .wrongData, "The edits of a batch take effect in their order"),
    (.clearsTheUpperEdge, .wrongData, "A clear removes exactly its range"),
    (.ignoresTheLowerEdge, .wrongData, "A clear removes exactly its range"),
    (
      .tearsBatches, .halfBatch,
      "A key above the limit is too large and nothing of its batch is applied"
    ),
    (.keepsShapesApart, .wrongData, "A space is found by its number, whatever shape is named"),
    (.leaksLaterWrites, .staleView, "A view is frozen under later commits"),
    (.walksIntoTheNextSpace, .phantom, "Walks never leave their space"),
    (
      .beginsDescentAfterTheOrigin, .wrongData,
      "Walks begin exactly at or after, or at or before, their origin"
    ),
    (.turnsOnJumpsBack, .wrongData, "Jumps go ahead, and a jump back goes to the neighbour"),
    (.ordersBySignedBytes, .wrongData, "Keys are ordered as unsigned bytes"),
    (.losesEmptyKeys, .wrongData, "The empty key and the empty value are kept"),
    (.truncatesLargeValues, .wrongData, "Values of every size up to 10 MiB come back whole"),
    (.lowersTheKeyLimit, .refused, "Keys up to the declared limit are kept"),
    (.liesAboutPersistence, .lostAcknowledged, "Reopening keeps every commit"),
    (.hidesPersistence, .resurrected, "A store that is declared not to persist forgets"),
    (.takesEveryLevel, .wrongError, "Every level up to the declared one is accepted, none above"),
    (.refusesItsOwnLevel, .refused, "Every level up to the declared one is accepted, none above"),
    (.changesTraits, .broken, "Traits are the declared ones and stay so"),
    (.repeatsCommitNumbers, .reusedID, "Commit numbers increase"),
    (.readsAfterClose, .wrongError, "Views and calls after close throw closed"),
    (.ignoresSuspension, .wrongError, "A suspended store refuses until resumed and keeps its data"),
    (
      .letsSecondOpenersIn, .wrongError,
      "A second opener is told who owns the store, which goes on unharmed"
    ),
    (
      .hidesTheOwner, .wrongError,
      "A second opener is told who owns the store, which goes on unharmed"
    ),
    (
      .losesDataOnSuspend, .lostAcknowledged,
      "A suspended store refuses until resumed and keeps its data"
    ),
    (.neverGivesSpaceBack, .usageDrift, "Space comes back once views are closed"),
    (.losesTheQueueAtTidying, .lostAcknowledged, "Tidying changes no data"),
    (.miscountsItsSize, .usageDrift, "Size counts live data"),
  ]

  @Test("A flaw is caught by the check that names it", arguments: catchers)
  func caught(_ flaw: Flaw, _ anomaly: Anomaly, _ name: String) async throws {
    let factory = Self.factory(flaw)
    let check = try #require(StoreCheck.all(for: factory).first { $0.name == name })
    let failure = await #expect(throws: ConformanceFailure.self) { try await check.run(factory) }
    #expect(failure?.anomaly == anomaly, "\(failure?.description ?? "not caught")")
    #expect(failure?.message.contains("CONIFER_CHECK=\"\(name)\" swift test") == true)
  }

  @Test("Every flaw has a check that names it")
  func complete() {
    #expect(Set(Self.catchers.map { $0.0 }) == Set(Flaw.allCases))
  }

  @Test("Checks have names of their own")
  func names() {
    let names = StoreCheck.all(for: Self.factory(nil)).map(\.name)
    #expect(Set(names).count == names.count)
  }

  /// What random programs must find by themselves.
  static let wandering: [Flaw] = [
    .dropsLastEdit, .clearsTheUpperEdge, .leaksLaterWrites, .walksIntoTheNextSpace,
    .turnsOnJumpsBack, .losesDataOnSuspend,
  ]

  @Test("Random programs find a flaw and shrink it to a few lines", arguments: wandering)
  func shrinks(_ flaw: Flaw) async throws {
    let factory = Self.factory(flaw)
    let check = try #require(
      StoreCheck.all(for: factory).first { $0.name.hasPrefix("Random programs") })
    do {
      try await check.run(factory)
      Issue.record("nothing was found")
    } catch let error as ConformanceFailure {
      #expect(error.seed != nil && error.message.contains("CONIFER_SEED="))
      let lines = error.message.split(separator: "\n").filter { $0.hasPrefix("  ") }
      #expect((1...4).contains(lines.count), "\(error.message)")
    }
  }

  @Test("A program without tests gets a list of results")
  func report() async {
    let report = await ConformanceReport.make(for: Self.factory(.repeatsCommitNumbers))
    #expect(!report.isPassed)
    #expect(report.results.filter { $0.outcome == .passed }.count > 20)
    #expect(
      report.results.contains { $0.check == "Commit numbers increase" && $0.anomaly == .reusedID })
  }
}
