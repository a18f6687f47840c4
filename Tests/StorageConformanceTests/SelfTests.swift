import ConiferKeyValue
import ConiferStorage
import StorageConformance
import Testing

@Suite("The kit catches what it must and nothing else")
struct SelfTests {
  static func factory(_ flaw: Flaw?) -> StoreFactory {
    let shelf = Shelf()
    return StoreFactory(
      name: flaw.map(\.rawValue) ?? "honest", declared: declared(flaw)
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
  static let catchers: [(Flaw, String)] = [
    (.dropsLastEdit, "A batch changes several spaces at once"),
    (.firstPutWins, "The edits of a batch take effect in their order"),
    (.clearsTheUpperEdge, "A clear removes exactly its range"),
    (.ignoresTheLowerEdge, "A clear removes exactly its range"),
    (.tearsBatches, "A key above the limit is too large and nothing of its batch is applied"),
    (.leaksLaterWrites, "A view is frozen under later commits"),
    (.walksIntoTheNextSpace, "Walks never leave their space"),
    (
      .beginsDescentAfterTheOrigin,
      "Walks begin exactly at or after, or at or before, their origin"
    ),
    (.turnsOnJumpsBack, "Jumps go ahead, and a jump back goes to the neighbour"),
    (.ordersBySignedBytes, "Keys are ordered as unsigned bytes"),
    (.losesEmptyKeys, "The empty key and the empty value are kept"),
    (.truncatesLargeValues, "Values of every size up to 10 MiB come back whole"),
    (.lowersTheKeyLimit, "Keys up to the declared limit are kept"),
    (.liesAboutPersistence, "Reopening keeps every commit"),
    (.hidesPersistence, "A store that is declared not to persist forgets"),
    (.takesEveryLevel, "Every level up to the declared one is taken, no level above"),
    (.refusesItsOwnLevel, "Every level up to the declared one is taken, no level above"),
    (.changesTraits, "Traits are the declared ones and stay so"),
    (.repeatsCommitNumbers, "Commit numbers increase"),
    (.readsAfterClose, "Views and calls after close throw closed"),
    (.ignoresSuspension, "A suspended store refuses until resumed and keeps its data"),
    (.letsSecondOpenersIn, "A second opener is told who owns the store, which goes on unharmed"),
    (.hidesTheOwner, "A second opener is told who owns the store, which goes on unharmed"),
    (.losesDataOnSuspend, "A suspended store refuses until resumed and keeps its data"),
    (.neverGivesSpaceBack, "Space comes back once views are closed"),
  ]

  @Test("A flaw is caught by the check that names it", arguments: catchers)
  func caught(_ flaw: Flaw, _ name: String) async throws {
    let factory = Self.factory(flaw)
    let check = try #require(StoreCheck.all(for: factory).first { $0.name == name })
    await #expect(throws: ConformanceFailure.self) { try await check.run(factory) }
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
      #expect(error.message.contains("CONIFER_SEED="))
      let lines = error.message.split(separator: "\n").filter { $0.hasPrefix("  ") }
      #expect((1...4).contains(lines.count), "\(error.message)")
    }
  }

  @Test("A program without tests gets a list of results")
  func report() async {
    let report = await ConformanceReport.make(for: Self.factory(.repeatsCommitNumbers))
    #expect(!report.isPassed)
    #expect(report.results.filter { $0.failure == nil }.count > 20)
    #expect(
      report.results.contains { $0.check == "Commit numbers increase" && $0.failure != nil })
  }
}
