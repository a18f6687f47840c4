import ArgumentParser
import ConiferStorage

/// The process that reads a damaged store for `salvage`.
struct SalvageWorkerCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage-worker", abstract: "The process that salvage runs.",
    shouldDisplay: false)

  @Argument(help: "The damaged store's URL.")
  var from: String
  @Argument(help: "The new store's URL.")
  var to: String
  @Option var fromKeyFile: String?
  @Option var toKeyFile: String?

  func run(_ console: Console) async throws {
    // The parent command has already warned about the key files.
    let console = console.quiet
    try await Worker.answer(console) {
      try await Salvage(
        source: try StoreAddress(from, keyFile: fromKeyFile, console),
        target: try StoreAddress(to, keyFile: toKeyFile, console)
      ).run { progress in
        Worker.tell(
          console, phase: progress.phase.rawValue, bytes: progress.bytes,
          expected: progress.expected)
      }
    }
  }
}
