import ConiferTree
import Foundation
import Testing

@Suite struct `Sync point scenarios` {
  @Test(
    .enabled(
      if: Scenario.isThere,
      "There is no \(Scenario.file.path); name a file of scenarios by CONIFER_SCENARIOS."),
    arguments: Scenario.all.map { NamedScenario($0) }, ["", "foo/bar/baz"])
  func `a case raises its events`(_ scenario: NamedScenario, base: String) throws {
    var runner = ScenarioRunner(base: Path(base))
    try runner.run(try scenario.result.get())
  }
}

struct NamedScenario: Sendable, CustomTestStringConvertible {
  let result: Result<Scenario, ScenarioError>

  init(_ result: Result<Scenario, ScenarioError>) { self.result = result }

  var testDescription: String {
    switch result {
    case .success(let scenario): scenario.name
    case .failure(let error): "\(error)"
    }
  }
}
