import Foundation
import Testing

/// A case of the specification: steps, each with what is to be so after it.
struct Scenario: Sendable, CustomTestStringConvertible {
  struct Step: Sendable {
    let name: String
    let action: ScenarioAction
    var expectation: ScenarioExpectation
  }

  /// The file that it is of, without its ending.
  let file: String
  let name: String
  let tags: Set<String>
  let clientCount: Int
  /// Whether memory keeps documents only as long as something needs them.
  let usesEagerCollection: Bool
  /// How many documents in limbo are listened to at once.
  let limboLimit: Int
  var steps: [Step]

  var testDescription: String { "\(file): \(name)" }

  private typealias R = ScenarioJSON

  /// - Parameter json: the case as its file has it.
  init(_ json: Any?, named name: String, in file: String) throws {
    self.file = file
    self.name = name
    let json = try R.object(
      json, of: ["describeName", "itName", "tags", "comment", "config", "steps"])
    tags = Set(try R.texts(json["tags"]))
    let configuration = try R.object(
      json["config"] ?? R.Object(),
      of: ["numClients", "useEagerGCForMemory", "maxConcurrentLimboResolutions"])
    clientCount = try configuration["numClients"].map { try R.number($0) } ?? 1
    usesEagerCollection = try configuration["useEagerGCForMemory"].map { try R.flag($0) } ?? true
    limboLimit =
      try configuration["maxConcurrentLimboResolutions"].map { try R.number($0) } ?? .max
    let isForOne = clientCount == 1
    // Cases of several clients have steps of their own; they are counted, and not run.
    steps = isForOne ? try R.list(json["steps"]).map { try Step($0) } : []
  }
}

extension Scenario.Step {
  private typealias R = ScenarioJSON

  init(_ json: Any) throws {
    let json = try R.object(json)
    if let index = json["clientIndex"], try R.number(index) != 0 {
      throw ScenarioError("the one client has the index 0, not \(index)")
    }
    let actions = json.filter {
      $0.key != "clientIndex" && !ScenarioExpectation.keys.contains($0.key)
    }
    guard let action = actions.first, actions.count == 1 else {
      throw ScenarioError("a step has one action, not \(actions.keys.sorted())")
    }
    name = action.key
    self.action = try ScenarioAction(action.key, action.value)
    expectation = try ScenarioExpectation(json)
  }
}

/// A folder of files of cases.
struct ScenarioFolder: Sendable {
  /// What a folder holds: cases, and why others cannot be read.
  let scenarios: [Scenario]
  let problems: [String]

  init(_ folder: URL) {
    var scenarios: [Scenario] = []
    var problems: [String] = []
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path)
    for name in (names ?? []).sorted() where name.hasSuffix(".json") {
      do {
        let data = try Data(contentsOf: folder.appendingPathComponent(name))
        let file = try ScenarioJSON.object(try JSONSerialization.jsonObject(with: data))
        for (title, json) in file.sorted(by: { $0.key < $1.key }) {
          do {
            scenarios.append(
              try Scenario(json, named: title, in: String(name.dropLast(".json".count))))
          } catch { problems.append("\(name): \(title): \(error)") }
        }
      } catch { problems.append("\(name): \(error)") }
    }
    if scenarios.isEmpty { problems.append("\(folder.path) holds no cases") }
    self.scenarios = scenarios
    self.problems = problems
  }
}

extension ScenarioFolder {
  private static let tests = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// The project's own cases.
  static let own = ScenarioFolder(tests.appendingPathComponent("Fixtures/documents"))

  /// The environment's name of a folder with other cases.
  static let variable = "CONIFER_DOCUMENT_SCENARIOS"

  private static let named = ProcessInfo.processInfo.environment[variable]

  /// The folder that the environment names, else the one beside the package.
  static let referencePath =
    named.map { URL(fileURLWithPath: $0) }
    ?? tests.appendingPathComponent("../../shared/scenarios/documents").standardizedFileURL

  /// The reference's cases, which are not published; nil when they are not here. A folder that is named must be there.
  static let reference: ScenarioFolder? =
    named != nil || FileManager.default.fileExists(atPath: referencePath.path)
    ? ScenarioFolder(referencePath) : nil

  /// Why the reference's cases do not run.
  static let missing = "There is no \(referencePath.path); name a folder of cases by \(variable)."

  /// Whether the cases are those that were counted when this was written.
  static let isGiven = named == nil && reference != nil
}
