import ArgumentParser
import ConiferBenchmark
import Foundation

struct Report: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Makes one page of a run, with charts, tables and the raw record, and a summary.")

  @Argument(help: "The record of a run.")
  var record = Bench.usualFile

  @Option(help: "Where the page is written.")
  var html = "conifer-bench.html"

  @Option(help: "Where a summary in Markdown is written.")
  var markdown: String?

  func run() throws {
    let record = try RunRecord(contentsOf: record)
    try HTMLReport(record).page().write(toFile: html, atomically: true, encoding: .utf8)
    note("The page is \(html).\n")
    if let markdown {
      let text = record.headline + "\n\n" + Summary(record).markdown(isWhole: false) + "\n"
      try text.write(toFile: markdown, atomically: true, encoding: .utf8)
    }
  }
}

struct BarsOf: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bars",
    abstract: "Prints the targets for backends, what a run reached, and whether it met them.",
    discussion: """
      Ratios are to raw LMDB with one leaf a row in the same run at the same durability. The exit
      code is 1 when something is short.
      """)

  @Argument(help: "The record of a run.")
  var record = Bench.usualFile

  @Option(help: "The durability whose table to use: relaxed, process or power.")
  var durability = "power"

  func run() throws {
    let record = try RunRecord(contentsOf: record)
    if record.plan.name != "full" {
      print("This run was \(record.plan.name): its sizes are not those of the bars.")
    }
    let bars = Bars(Summary(record), durability: durability)
    print(bars.text)
    if !bars.areMet { throw ExitCode(1) }
  }
}
