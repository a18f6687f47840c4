import StorageConformance
import Testing

@Suite("The kit for backends can be passed and failed")
struct BackendSelfTests {
  @Test("The model passes", arguments: BackendCheck.all(for: ModelBackend.factory()))
  func model(_ check: BackendCheck) async throws { try await check.run(ModelBackend.factory()) }

  /// The check that must fail for each defect; others may fail too.
  static let caught: [(ModelBackend.Defect, Anomaly, String)] = [
    (.dropsLastEdit, .halfBatch, "edits of one commit see the earlier ones"),
    (.tearsCommits, .halfBatch, "a commit with an invalid edit changes nothing, wherever it is"),
    (.forgetsNumbers, .reusedID, "numbers never repeat, also after emptying and reopening"),
    (.ignoresPins, .evictedPin, "pinned data survives every prune above, at and below it"),
    (.readsStale, .staleView, "a later overwrite replaces all below it and nothing beside it"),
    (.losesPriorities, .wrongData, "priorities of leaves and interior nodes are kept"),
    (.losesIntegers, .wrongData, "numbers, server values and their hashes come back exactly"),
    (.mixesRejected, .lostAcknowledged, "a rejected write stays until it is retried or discarded"),
    (.losesTail, .lostAcknowledged, "everything is as before after closing and opening"),
    (.mixesLanes, .phantom, "lanes are kept apart, also of identities that look alike"),
    (.neverForgets, .usageDrift, "10,000 finished writes do not grow the queue without bound"),
    (
      .losesQueueAtTidying, .lostAcknowledged, "housekeeping keeps every write that is not finished"
    ),
    (.forgetsPins, .evictedPin, "pins are kept, once each, and end"),
    (.miscountsUsage, .usageDrift, "usage counts leaves and priorities after every kind of edit"),
    (
      .forgetsIndexRows, .wrongData,
      "with indexes, queries give the same after every kind of edit"
    ),
    (.ignoresBounds, .wrongData, "a query gives what it would of the whole node"),
    (.reusesQueryNumbers, .reusedID, "removing a query removes its keys; numbers never repeat"),
    (
      .leavesIndexEntries, .wrongData,
      "indexes give what a look at every document does, after every kind of edit"
    ),
    (.mixesOverlays, .phantom, "each identity sees its own waiting writes and no others"),
    (
      .resurrectsMissing, .resurrected,
      "a document that the server said is missing stays missing"
    ),
    (
      .forgetsOverlays, .halfBatch,
      "a write shows in the commit that queues it, until that in which it ends"
    ),
    (
      .leavesMatches, .phantom,
      "a query matches what the server said last, and nothing once it is forgotten"
    ),
    (
      .sharesTargets, .wrongError,
      "a query of another user, or another query, is refused under a tracked number"
    ),
    (.ignoresCursors, .wrongData, "random programs of documents show what the model does"),
    (.trustsMatches, .wrongData, "random programs of documents show what the model does"),
  ]

  @Test("Every defect has a check that catches it")
  func complete() {
    #expect(Set(Self.caught.map(\.0)) == Set(ModelBackend.Defect.allCases))
  }

  @Test("A broken backend is caught by the check for it", arguments: caught)
  func broken(_ defect: ModelBackend.Defect, _ anomaly: Anomaly, _ name: String) async throws {
    let factory = ModelBackend.factory(defect)
    let check = try #require(BackendCheck.all(for: factory).first { $0.name == name })
    let failure = await #expect(throws: ConformanceFailure.self) { try await check.run(factory) }
    #expect(failure?.anomaly == anomaly, "\(failure?.description ?? "not caught")")
    #expect(failure?.message.contains("CONIFER_CHECK=\"\(name)\" swift test") == true)
  }

  @Test("Random programs catch a broken backend and print a short program")
  func shrinks() async throws {
    let factory = ModelBackend.factory(.losesPriorities)
    let check = try #require(BackendCheck.all(for: factory).first { $0.group == .programs })
    let failure = await #expect(throws: ConformanceFailure.self) { try await check.run(factory) }
    let text = try #require(failure).description
    let program = text.split(separator: "\n").filter { $0.hasPrefix("  ") }
    #expect(program.count <= 6, "\(text)")
    #expect(text.contains("CONIFER_SEED="))
  }

  /// What random programs of documents must find by themselves.
  static let wandering: [ModelBackend.Defect] = [
    .forgetsOverlays, .leavesMatches, .ignoresCursors, .trustsMatches,
  ]

  @Test(
    "Random programs of documents find a defect and print a short program", arguments: wandering)
  func shrinksDocuments(_ defect: ModelBackend.Defect) async throws {
    let factory = ModelBackend.factory(defect)
    let check = try #require(
      BackendCheck.all(for: factory).first { $0.name.hasPrefix("random programs of documents") })
    let failure = await #expect(throws: ConformanceFailure.self) { try await check.run(factory) }
    let text = try #require(failure).description
    let program = text.split(separator: "\n").filter { $0.hasPrefix("  ") }
    #expect(program.count <= 24, "\(text)")
    #expect(text.contains("CONIFER_SEED="))
  }

  @Test("Two models agree, a broken one does not")
  func agreement() async throws {
    try await BackendCheck.agreement(of: [ModelBackend.factory(), ModelBackend.factory()])
    await #expect(throws: (any Error).self) {
      try await BackendCheck.agreement(of: [
        ModelBackend.factory(), ModelBackend.factory(.losesPriorities),
      ])
    }
    // What only documents show.
    await #expect(throws: (any Error).self) {
      try await BackendCheck.agreement(of: [
        ModelBackend.factory(), ModelBackend.factory(.mixesOverlays),
      ])
    }
  }
}
