import ArgumentParser

@main
struct Bench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conifer-bench",
    abstract: "Compares storage backends at equal durability.",
    subcommands: [Run.self, Compare.self, Report.self, BarsOf.self, Counts.self, Work.self])

  /// The file that runs write and that others read unless told.
  static let usualFile = "conifer-bench.json"
}
