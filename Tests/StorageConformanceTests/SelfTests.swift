import ConiferKeyValue
import ConiferStorage
import Testing

@testable import StorageConformance

@Suite("The kit catches what it must and nothing else")
struct SelfTests {
  static let shelf = ShelfStore.factory()

  static let inMemory = StoreFactory(
    name: "memory",
    declared: StoreTraits(
      longestKey: .max, bestValueSize: 16 << 10, writeQuantum: 64, strongest: .relaxed,
      isPersistent: false)
  ) { (_) throws(StoreError) in MemoryStore() }

  @Test("An honest store passes", arguments: StoreCheck.all(for: shelf))
  func honest(_ check: StoreCheck) async throws { try await check.run(Self.shelf) }

  @Test("The memory store passes", arguments: StoreCheck.all(for: inMemory))
  func memory(_ check: StoreCheck) async throws { try await check.run(Self.inMemory) }

  /// The anomalies under which faults are told.
  static let anomalies: [(String, Anomaly)] = [
    ("A batch's last edit is not done", .halfBatch),
    ("Of two puts of one key in a batch the first one counts", .wrongData),
    ("A clear takes the key at its end too", .wrongData),
    ("A clear leaves the first key of its range", .wrongData),
    ("Of a batch that is refused the edits before the wrong one are done", .halfBatch),
    ("A space of another shape is another space", .wrongData),
    ("A view sees later commits", .staleView),
    ("A walk up goes on in the next space", .phantom),
    ("A walk down begins at the key after its origin", .wrongData),
    ("A jump back goes back", .wrongData),
    ("Keys are ordered as signed bytes", .wrongData),
    ("The empty key is not kept", .wrongData),
    ("Values end after 8 MiB", .wrongData),
    ("The longest key is refused", .refused),
    ("Nothing is kept", .lostAcknowledged),
    ("Data outlives a store that is declared to forget", .resurrected),
    ("Levels above the strongest one are accepted", .wrongError),
    ("The strongest level is refused", .refused),
    ("Traits change with the commits", .broken),
    ("Every third commit has the number of the one before", .reusedID),
    ("A view of a closed store shows nothing", .wrongError),
    ("Suspending does nothing", .wrongError),
    ("A second opener gets the store too", .wrongError),
    ("A second opener is not told who owns the store", .wrongError),
    ("The newest commit is gone after suspending", .lostAcknowledged),
    ("Space that was used is never used again", .usageDrift),
    ("Tidying loses the newest commit", .lostAcknowledged),
    ("A hundredth of the live bytes is counted", .usageDrift),
  ]

  @Test("A fault is told under its anomaly, by a check that must see it", arguments: anomalies)
  func anomaly(_ name: String, _ anomaly: Anomaly) async throws {
    let mutation = try #require(StoreMutation.every.first { $0.name == name })
    let result = await mutation.result(Self.shelf)
    #expect(result.outcome == .passed, "\(result)")
    #expect(result.anomaly == anomaly, "\(result)")
    #expect(mutation.checks.contains(result.reason ?? ""), "\(result)")
  }

  @Test("A failure says how it is repeated")
  func command() async throws {
    let name = "Commit numbers increase"
    let check = try #require(StoreCheck.all(for: Self.shelf).first { $0.name == name })
    let broken = Self.shelf.mutated(MutationSite(.commits(.repeatsNumbers), keeping: .nothing))
    let failure = await #expect(throws: ConformanceFailure.self) { try await check.run(broken) }
    #expect(failure?.message.contains("CONIFER_CHECK=\"\(name)\" swift test") == true)
  }

  @Test("Checks have names of their own")
  func names() {
    let names = StoreCheck.all(for: Self.shelf).map(\.name)
    #expect(Set(names).count == names.count)
  }

  /// What random programs must find by themselves.
  static let wandering = [
    "A batch's last edit is not done", "A clear takes the key at its end too",
    "A view sees later commits", "A walk up goes on in the next space", "A jump back goes back",
    "The newest commit is gone after suspending",
  ]

  @Test("Random programs find a flaw and shrink it to a few lines", arguments: wandering)
  func shrinks(_ name: String) async throws {
    let fault = try #require(StoreMutation.every.first { $0.name == name }).fault
    let factory = Self.shelf.mutated(MutationSite(fault, keeping: fault.keeps))
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
    let broken = Self.shelf.mutated(MutationSite(.commits(.repeatsNumbers), keeping: .nothing))
    let report = await ConformanceReport.make(for: broken)
    #expect(!report.isPassed)
    #expect(report.results.filter { $0.outcome == .passed }.count > 20)
    #expect(
      report.results.contains { $0.check == "Commit numbers increase" && $0.anomaly == .reusedID })
  }
}
