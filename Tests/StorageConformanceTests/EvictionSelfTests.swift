import ConiferStorage
import StorageConformance
import Testing

@Suite("The kit tells a backend that evicts wrongly")
struct EvictionSelfTests {
  /// The check that must fail for each defect; others may fail too.
  static let caught: [(FlawedEviction.Defect, Anomaly, String)] = [
    (.evictsPins, .evictedPin, "a pinned range is never lost, whatever overlaps it"),
    (.forgetsActivity, .evictedPin, "active data stays, and goes when it is no longer active"),
    (.newestFirst, .broken, "the least recently used queries go first, with their data"),
    (.purgesQueue, .lostAcknowledged, "the outbound queue and all else outside of the cache stay"),
    (.evictsOnDryRun, .usageDrift, "a dry run changes nothing and says what would be evicted"),
    (.leavesData, .broken, "the least recently used queries go first, with their data"),
    (.coversWholePaths, .falseComplete, "a filtered query covers the children that it holds"),
    (.overstates, .usageDrift, "a report's bytes are those that were freed"),
    (.addsUpWrongly, .usageDrift, "an explanation adds up and names every reason"),
    (.foretellsWrongly, .usageDrift, "data is evicted when its explanation said it would be"),
    (.neverEvicts, .usageDrift, "a stream of data exceeds the budget by no more than is allowed"),
    (.evictsAuthorities, .wrongError, "an authority never evicts"),
    (.countsPinsTwice, .usageDrift, "the parts of a store's space add up"),
    (.evictsWritten, .evictedPin, "an eviction leaves every document that a waiting write needs"),
  ]

  @Test("Every defect has a check that catches it")
  func complete() {
    #expect(Set(Self.caught.map(\.0)) == Set(FlawedEviction.Defect.allCases))
  }

  @Test("A backend that evicts wrongly is caught by the check for it", arguments: caught)
  func flawed(_ defect: FlawedEviction.Defect, _ anomaly: Anomaly, _ name: String) async throws {
    let factory = FlawedEviction.factory(defect)
    let check = try #require(BackendCheck.all(for: factory).first { $0.name == name })
    let failure = await #expect(throws: ConformanceFailure.self) { try await check.run(factory) }
    #expect(failure?.anomaly == anomaly, "\(failure?.description ?? "not caught")")
  }

  @Test("A backend that no longer verifies its store or keeps documents is told")
  func undone() async throws {
    let flawed = FlawedEviction.factory(.evictsPins)
    let forgetful = Tested.memory(.standard)
    let name = "traits are what was declared and asked for, and stay"
    for (factory, words) in [
      (
        BackendFactory(
          name: "backend that cannot verify", declared: flawed.declared, options: flawed.options,
          evicts: true, keepsDocuments: true, verifies: true, open: flawed.open),
        "VerifyingBackend"
      ),
      (
        BackendFactory(
          name: "backend with undeclared documents", declared: forgetful.declared,
          options: forgetful.options, evicts: true, verifies: true, open: forgetful.open),
        "DocumentBackend"
      ),
    ] {
      let check = try #require(BackendCheck.all(for: factory).first { $0.name == name })
      let failure = await #expect(throws: ConformanceFailure.self) { try await check.run(factory) }
      #expect(failure?.message.contains(words) == true, "\(failure?.description ?? "not caught")")
    }
  }

  @Test("A backend that evicts and says that it does not is told")
  func undeclared() async throws {
    let right = Tested.memory(.none)
    let factory = BackendFactory(
      name: "backend that does not declare to evict", declared: right.declared,
      options: right.options, open: right.open)
    for name in [
      "traits are what was declared and asked for, and stay",
      "a backend that does not evict says so",
    ] {
      let check = try #require(BackendCheck.all(for: factory).first { $0.name == name })
      await #expect(throws: ConformanceFailure.self, "\(name)") { try await check.run(factory) }
    }
  }
}
