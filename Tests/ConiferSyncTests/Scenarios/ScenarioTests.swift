import ConiferTree
import Foundation
import Testing

@Suite struct `Sync point scenarios` {
  @Test(arguments: NamedScenario.all(of: ScenarioFile.own), ["", "foo/bar/baz"])
  func `a case raises its events`(_ scenario: NamedScenario, base: String) throws {
    try scenario.run(base)
  }

  @Test(
    .enabled(
      if: ScenarioFile.hasReference,
      "There is no \(ScenarioFile.reference.path); name a file of scenarios by CONIFER_SCENARIOS."),
    arguments: ScenarioFile.hasReference ? NamedScenario.all(of: ScenarioFile.reference) : [],
    ["", "foo/bar/baz"])
  func `a case of the reference raises its events`(
    _ scenario: NamedScenario, base: String
  ) throws {
    try scenario.run(base)
  }
}

struct NamedScenario: Sendable, CustomTestStringConvertible {
  let result: Result<Scenario, ScenarioError>

  static func all(of file: URL) -> [NamedScenario] {
    Scenario.all(of: file).map { NamedScenario(result: $0) }
  }

  func run(_ base: String) throws {
    var runner = ScenarioRunner(base: Path(base))
    try runner.run(try result.get())
  }

  var testDescription: String {
    switch result {
    case .success(let scenario): scenario.name
    case .failure(let error): "\(error)"
    }
  }
}
