import Foundation

/// Where the cases are: the project's own, and the reference's, which are not published.
enum ScenarioFile {
  private static let tests = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  static let own = tests.appendingPathComponent("Fixtures/sync-points.json")

  /// The file that the environment names, else the one beside the package.
  static let reference =
    ProcessInfo.processInfo.environment["CONIFER_SCENARIOS"].map { URL(fileURLWithPath: $0) }
    ?? tests.appendingPathComponent("../../shared/scenarios/sync-points.json").standardizedFileURL

  /// Whether the reference's cases can be asked for; a file that is named must be there.
  static let hasReference =
    ProcessInfo.processInfo.environment["CONIFER_SCENARIOS"] != nil
    || FileManager.default.fileExists(atPath: reference.path)
}
