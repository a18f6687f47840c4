import StorageConformance
import Testing

@Suite("The kit for backends can be passed and failed")
struct BackendSelfTests {
  @Test("The model passes", arguments: BackendCheck.all(for: ModelBackend.factory()))
  func model(_ check: BackendCheck) async throws { try await check.run(ModelBackend.factory()) }

  /// The check that must fail for each defect; others may fail too.
  static let caught: [(ModelBackend.Defect, String)] = [
    (.dropsLastEdit, "edits of one commit see the earlier ones"),
    (.tearsCommits, "a commit with an invalid edit changes nothing, wherever it is"),
    (.forgetsNumbers, "numbers never repeat, also after emptying and reopening"),
    (.ignoresPins, "pinned data survives every prune above, at and below it"),
    (.readsStale, "a later overwrite replaces all below it and nothing beside it"),
    (.losesPriorities, "priorities of leaves and interior nodes are kept"),
    (.losesIntegers, "numbers, server values and their hashes come back exactly"),
    (.mixesRejected, "a rejected write stays until it is retried or discarded"),
    (.losesTail, "everything is as before after closing and opening"),
    (.mixesLanes, "lanes are kept apart, also of identities that look alike"),
    (.neverForgets, "10,000 finished writes do not grow the queue without bound"),
  ]

  @Test("Every defect has a check that catches it")
  func complete() {
    #expect(Set(Self.caught.map(\.0)) == Set(ModelBackend.Defect.allCases))
  }

  @Test("A broken backend is caught by the check for it", arguments: caught)
  func broken(_ defect: ModelBackend.Defect, _ name: String) async throws {
    let factory = ModelBackend.factory(defect)
    let check = try #require(BackendCheck.all(for: factory).first { $0.name == name })
    await #expect(throws: ConformanceFailure.self) { try await check.run(factory) }
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

  @Test("Two models agree, a broken one does not")
  func agreement() async throws {
    try await BackendCheck.agreement(of: [ModelBackend.factory(), ModelBackend.factory()])
    await #expect(throws: (any Error).self) {
      try await BackendCheck.agreement(of: [
        ModelBackend.factory(), ModelBackend.factory(.losesPriorities),
      ])
    }
  }
}
