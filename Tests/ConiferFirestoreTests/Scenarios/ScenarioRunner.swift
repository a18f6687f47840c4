/// Runs cases on the real engine.
enum ScenarioRunner {
  /// What is not as a case says.
  struct Problem: Sendable, CustomStringConvertible {
    let scenario: String
    let backend: ScenarioBackend
    let step: Int
    let action: String
    let differences: [String]

    var description: String {
      "\(scenario), on \(backend.rawValue), step \(step) (\(action)):\n  "
        + differences.joined(separator: "\n  ")
    }
  }

  /// Runs a case on a backend.
  ///
  /// - Returns: the first step that is not as the case says, or nil.
  static func run(_ scenario: Scenario, on backend: ScenarioBackend) async throws -> Problem? {
    let client = try ScenarioClient(backend, limboLimit: scenario.limboLimit)
    await client.waitUntilIdle()
    let problem = await run(scenario, client, backend)
    await client.end()
    return problem
  }

  private static func run(
    _ scenario: Scenario, _ client: ScenarioClient, _ backend: ScenarioBackend
  ) async -> Problem? {
    var expected = ScenarioExpectation.atFirst
    for (index, step) in scenario.steps.enumerated() {
      var differences: [String] = []
      do { try await client.perform(step.action) } catch { differences.append("\(error)") }
      expected = step.expectation.following(expected)
      differences += await ScenarioObservation(client).differences(from: expected)
      if !differences.isEmpty {
        return Problem(
          scenario: scenario.testDescription, backend: backend, step: index, action: step.name,
          differences: differences)
      }
    }
    return nil
  }
}
