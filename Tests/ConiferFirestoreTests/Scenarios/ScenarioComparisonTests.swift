import ConiferDocument
import ConiferWire
import Foundation
import Testing

/// The runner sees everything that a case says: each kind of expectation fails once it is changed.
@Suite struct `The runner of cases` {
  /// A change of what a case expects.
  enum Change: String, CaseIterable, Sendable {
    case noEvent, anotherEvent, origin, pendingWrites, version, kind, noChange, error
    case noTarget, anotherTarget, token, readTime, purpose, count
    case activeLimbo, waitingLimbo, acknowledged, rejected
    case outstandingWrites, writeRequests, watchRequests, inSyncCalls, pendingWritesCalls
    case shutdown, clientCount, index

    /// Changes an expectation.
    ///
    /// - Returns: whether there was something to change.
    func make(_ expected: inout ScenarioExpectation) -> Bool {
      changeEvents(&expected) ?? changeTargets(&expected) ?? changeRest(&expected)
    }

    private func changeEvents(_ expected: inout ScenarioExpectation) -> Bool? {
      let index = expected.events.indices.last
      switch self {
      case .noEvent: return index.map { _ = expected.events.remove(at: $0) } != nil
      case .anotherEvent: return index.map { expected.events.append(expected.events[$0]) } != nil
      case .origin: return index.map { expected.events[$0].isFromCache.toggle() } != nil
      case .pendingWrites: return index.map { expected.events[$0].hasPendingWrites.toggle() } != nil
      case .version: return replace("v1000", "v1001", &expected)
      case .kind: return replace("added", "modified", &expected)
      case .noChange:
        guard let index, !expected.events[index].changes.isEmpty else { return false }
        expected.events[index].changes.removeLast()
        return true
      case .error:
        guard let index, expected.events[index].error != 0 else { return false }
        expected.events[index].error += 1
        return true
      default: return nil
      }
    }

    private func replace(
      _ old: String, _ new: String, _ expected: inout ScenarioExpectation
    ) -> Bool {
      for event in expected.events.indices {
        for change in expected.events[event].changes.indices {
          let text = expected.events[event].changes[change]
          guard text.contains(old) else { continue }
          expected.events[event].changes[change] = text.replacing(old, with: new)
          return true
        }
      }
      return false
    }

    private func changeTargets(_ expected: inout ScenarioExpectation) -> Bool? {
      guard [.noTarget, .anotherTarget, .token, .readTime, .purpose, .count].contains(self) else {
        return nil
      }
      guard let (id, old) = expected.targets?.first else { return false }
      var target = old
      switch self {
      case .noTarget:
        expected.targets?[id] = nil
        return true
      case .anotherTarget:
        expected.targets?[id + 100] = target
        return true
      case .token: target.resumeToken.append(0x21)
      case .readTime:
        let time = try? ConiferDocument.Timestamp(microseconds: 5)
        guard target.resumeToken.isEmpty, let time else { return false }
        target.readTime = time
      case .purpose: target.purpose = .existenceFilterMismatchBloom
      default: target.expectedCount = 77
      }
      expected.targets?[id] = target
      return true
    }

    private func changeRest(_ expected: inout ScenarioExpectation) -> Bool {
      switch self {
      case .activeLimbo: expected.activeLimbo?.append("z/z")
      case .waitingLimbo: expected.waitingLimbo?.append("z/z")
      case .acknowledged: expected.acknowledged = expected.acknowledged.isEmpty ? ["z/z"] : []
      case .rejected: expected.rejected = expected.rejected.isEmpty ? ["z/z"] : []
      case .outstandingWrites: expected.outstandingWrites? += 1
      case .writeRequests: expected.writeRequests? += 1
      case .watchRequests: expected.watchRequests? += 1
      case .inSyncCalls: expected.inSyncCalls += 1
      case .pendingWritesCalls: expected.pendingWritesCalls += 1
      case .shutdown: expected.isShutdown?.toggle()
      case .clientCount: expected.clientCount? += 1
      case .index: expected.indexes?.append("z")
      default: break
      }
      return switch self {
      case .activeLimbo: expected.activeLimbo != nil
      case .waitingLimbo: expected.waitingLimbo != nil
      case .outstandingWrites: expected.outstandingWrites != nil
      case .writeRequests: expected.writeRequests != nil
      case .watchRequests: expected.watchRequests != nil
      case .shutdown: expected.isShutdown != nil
      case .clientCount: expected.clientCount != nil
      case .index: expected.indexes != nil
      default: true
      }
    }
  }

  /// Steps that no case may have, and what is said of them.
  static let refused: [(step: String, words: String)] = [
    (#"{"userDream": true}"#, "nobody knows the step userDream"),
    (#"{"drainQueue": true, "expectedDreams": 1}"#, "a step has one action"),
    (#"{"drainQueue": true, "expectedState": {"dreams": 1}}"#, "the expectation dreams"),
    (#"{"drainQueue": true, "clientIndex": 1}"#, "the one client has the index 0"),
    (#"{"drainQueue": true, "expectedState": {"isPrimary": false}}"#, "always its primary one"),
    (#"{"runTimer": "egg"}"#, "a timer was expected"),
    (#"{"failDatabase": ["Dream"]}"#, "nobody knows the persistence action Dream"),
    (#"{"writeAck": {"version": 1, "keepInQueue": true}}"#, "a client that shares its store"),
    (#"{"watchSnapshot": {"version": 1, "dream": 1}}"#, "nobody knows the key dream"),
    (#"{"watchFilter": {"targetIds": [2, 4], "keys": []}}"#, "one target was expected"),
    (#"{"userUnlisten": [2, {"path": "a", "startAt": 1}]}"#, "nobody knows the key startAt"),
    (
      #"{"userUnlisten": [2, {"path": "a", "limit": 1, "limitType": "Some"}]}"#,
      "a limit was expected"
    ),
    (
      #"{"userListen": {"targetId": 2, "query": "a", "options": {"source": "server"}}}"#,
      "a source was expected"
    ),
    (#"{"setIndexConfiguration": "{"}"#, "column 2"),
    (
      #"{"drainQueue": true, "expectedState": {"activeTargets": {"2": {"queries": ["a"], "targetPurpose": 3}}}}"#,
      "a text was expected"
    ),
  ]

  @Test(arguments: refused)
  func `refuses what it does not know`(step: String, words: String) throws {
    let json = try JSONSerialization.jsonObject(with: Data(step.utf8))
    let error = #expect(throws: (any Error).self) { try Scenario.Step(json) }
    #expect("\(error as Any)".contains(words), "\(error as Any)")
  }

  @Test func `refuses a configuration that it does not know`() {
    for json: [String: Any] in [
      ["config": ["numClients": 1, "dream": 1], "steps": []], ["dream": 1, "steps": []],
    ] {
      let error = #expect(throws: ScenarioError.self) { try Scenario(json, named: "a", in: "b") }
      #expect("\(error as Any)".contains("nobody knows the key dream"))
    }
  }

  @Test(arguments: StorageAction.allCases)
  func `knows what of the store an action uses`(_ action: StorageAction) {
    #expect(StorageUse.table[action]?.isEmpty == false)
  }

  /// A case proves nothing with what it has fail and nobody tries.
  @Test(arguments: ScenarioBackend.allCases)
  func `has nothing fail that is not tried`(_ backend: ScenarioBackend) async throws {
    for scenario in ScenarioFolder.own.scenarios
    where scenario.failsStorage && backend.reasonToSkip(scenario) == nil {
      let client = try ScenarioClient(backend, .quick, limboLimit: scenario.limboLimit)
      await client.waitUntilIdle()
      for (index, step) in scenario.steps.enumerated() {
        if case .failStorage = step.action {
          #expect(client.storage.faults.untried == [], "\(scenario.testDescription), step \(index)")
        }
        try await client.perform(step.action)
      }
      #expect(client.storage.faults.untried == [], "\(scenario.testDescription), at its end")
      await client.end()
    }
  }

  /// Steps of which the last one cannot be done, and what is said of it.
  static let impossible: [(steps: [String], words: String)] = [
    ([#"{"watchStreamClose": {"error": {"code": 14}}}"#], "no stream of listens is open"),
    ([#"{"userUnlisten": [2, {"path": "a"}]}"#], "nobody listens to"),
    (
      [
        #"{"userListen": {"targetId": 2, "query": {"path": "a"}}, "expectedState": {"activeTargets": {"2": {"queries": [{"path": "a"}], "resumeToken": ""}}}}"#,
        #"{"userUnlisten": [4, {"path": "a"}], "expectedState": {"activeTargets": {}}}"#,
      ], "the target has the number 2, not 4"
    ),
  ]

  @Test(arguments: impossible)
  func `does no step that is not possible`(steps: [String], words: String) async throws {
    let json: [String: Any] = [
      "tags": [String](),
      "steps": try steps.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) },
    ]
    let scenario = try Scenario(json, named: "a", in: "b")
    let problem = try #require(try await ScenarioRunner.run(scenario, on: .memory))
    #expect(problem.step == steps.count - 1)
    #expect(problem.description.contains(words), "\(problem)")
  }

  @Test(arguments: Change.allCases)
  func `sees a change of what is expected`(_ change: Change) async throws {
    let backend = ScenarioBackend.memory
    for var scenario in ScenarioFolder.own.scenarios where backend.reasonToSkip(scenario) == nil {
      for step in scenario.steps.indices {
        guard change.make(&scenario.steps[step].expectation) else { continue }
        let problem = try await ScenarioRunner.run(scenario, on: backend)
        #expect(problem?.step == step, "\(change) in \(scenario.testDescription)")
        return
      }
    }
    Issue.record("no case of the project's own has a \(change)")
  }
}

extension Scenario {
  /// Whether a step has the storage fail.
  fileprivate var failsStorage: Bool {
    steps.contains {
      if case .failStorage(let actions) = $0.action { !actions.isEmpty } else { false }
    }
  }
}
