/// Runs cases on the real engine.
enum ScenarioRunner {
  /// What is not as a case says.
  struct Problem: Sendable, CustomStringConvertible {
    let scenario: String
    let backend: ScenarioBackend
    let options: ScenarioOptions
    let step: Int
    let action: String
    let differences: [String]

    var description: String {
      "\(scenario), on \(backend.rawValue) (\(options)), step \(step) (\(action)):\n  "
        + differences.joined(separator: "\n  ")
    }
  }

  /// Runs a case on a backend.
  ///
  /// - Returns: the first step that is not as the case says, or nil.
  static func run(
    _ scenario: Scenario, on backend: ScenarioBackend, _ options: ScenarioOptions = .quick
  ) async throws -> Problem? {
    let client = try ScenarioClient(backend, options, limboLimit: scenario.limboLimit)
    await client.waitUntilIdle()
    let found = await run(scenario, client)
    await client.end()
    return found.map { step, differences in
      Problem(
        scenario: scenario.testDescription, backend: backend, options: options, step: step,
        action: scenario.steps[step].name, differences: differences)
    }
  }

  private static func run(
    _ scenario: Scenario, _ client: ScenarioClient
  ) async -> (step: Int, differences: [String])? {
    var expected = ScenarioExpectation.atFirst
    for (index, step) in scenario.steps.enumerated() {
      var differences: [String] = []
      do { try await client.perform(step.action) } catch { differences.append("\(error)") }
      expected = step.expectation.following(expected)
      differences += await ScenarioObservation(client).differences(from: expected)
      if !differences.isEmpty { return (index, differences) }
    }
    return nil
  }
}
