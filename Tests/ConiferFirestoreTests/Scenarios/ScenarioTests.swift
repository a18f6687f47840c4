import Testing

/// The cases of the specification of clients of documents, on the real engine and on each backend.
@Suite struct `The specification's cases` {
  /// The cases of one file that one backend runs.
  struct Batch: Sendable, CustomTestStringConvertible {
    let backend: ScenarioBackend
    let options: ScenarioOptions
    let file: String
    let scenarios: [Scenario]

    var testDescription: String {
      "\(file) on \(backend.rawValue) (\(options)), \(scenarios.count) cases"
    }

    /// All cases of a folder on the backends that they are for.
    static func all(
      of folder: ScenarioFolder?, on backends: [ScenarioBackend] = ScenarioBackend.allCases,
      _ options: ScenarioOptions = .quick
    ) -> [Batch] {
      guard let folder else { return [] }
      let files = Dictionary(grouping: folder.scenarios, by: \.file)
      return backends.flatMap { backend in
        files.sorted { $0.key < $1.key }.compactMap { file, scenarios in
          let served = scenarios.filter { backend.reasonToSkip($0) == nil }
          return served.isEmpty
            ? nil : Batch(backend: backend, options: options, file: file, scenarios: served)
        }
      }
    }

    func run() async throws {
      for scenario in scenarios {
        let problem = try await ScenarioRunner.run(scenario, on: backend, options)
        #expect(problem == nil, "\(problem.map(\.description) ?? "")")
      }
    }
  }

  @Test(arguments: Batch.all(of: .own))
  func `are met`(_ batch: Batch) async throws { try await batch.run() }

  /// The token of a stream of writes, too, is durable before anything is sent on it.
  @Test(arguments: Batch.all(of: .own, on: [.sqlite, .lmdb], .usual))
  func `are met when writes survive power loss and data is packed`(_ batch: Batch) async throws {
    try await batch.run()
  }

  @Test(
    .enabled(if: ScenarioFolder.reference != nil, "\(ScenarioFolder.missing)"),
    arguments: Batch.all(of: .reference))
  func `of the reference are met`(_ batch: Batch) async throws { try await batch.run() }

  @Test func `can be read`() {
    #expect(ScenarioFolder.own.problems == [])
    #expect(ScenarioFolder.reference.map(\.problems) ?? [] == [])
  }

  /// Which cases of a folder a backend runs, and how many it leaves out for which reason.
  static func report(_ folder: ScenarioFolder, _ backend: ScenarioBackend) -> String {
    let skipped = folder.scenarios.compactMap { backend.reasonToSkip($0) }
    let reasons = Dictionary(grouping: skipped) { $0 }.sorted { $0.key < $1.key }
    let words = reasons.map { ", \($0.value.count) skipped: \($0.key)" }.joined()
    return "\(backend.rawValue) runs \(folder.scenarios.count - skipped.count) cases\(words)"
  }

  @Test func `each run somewhere, and what is skipped is told`() {
    for folder in [ScenarioFolder.own, ScenarioFolder.reference].compactMap({ $0 }) {
      for backend in ScenarioBackend.allCases { print(Self.report(folder, backend)) }
      for scenario in folder.scenarios where scenario.clientCount == 1 {
        let reasons = ScenarioBackend.allCases.compactMap { $0.reasonToSkip(scenario) }
        #expect(reasons.count < ScenarioBackend.allCases.count, "\(scenario.testDescription)")
      }
    }
  }

  @Test(
    .enabled(if: ScenarioFolder.isGiven, "The cases that were counted are not here."),
    arguments: ScenarioBackend.allCases)
  func `of the reference are as many as they were`(_ backend: ScenarioBackend) throws {
    let folder = try #require(ScenarioFolder.reference)
    #expect(folder.scenarios.count == 140)
    let count = folder.scenarios.count { backend.reasonToSkip($0) == nil }
    switch backend {
    case .memory: #expect(count == 123)
    case .eagerMemory: #expect(count == 86)
    default: #expect(count == 134)
    }
  }
}
