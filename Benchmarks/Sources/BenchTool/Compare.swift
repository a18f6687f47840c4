import ArgumentParser
import ConiferBenchmark

struct Compare: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Tells what differs between two runs by more than their spread.")

  @Argument(help: "The earlier record.")
  var before: String

  @Argument(help: "The later record.")
  var after: String

  func run() throws {
    let (old, new) = (try RunRecord(contentsOf: before), try RunRecord(contentsOf: after))
    if old.plan.name != new.plan.name || old.machine.processor != new.machine.processor {
      print("The runs differ in plan or machine: differences may come from that.")
    }
    print(Comparison(Summary(old), Summary(new)).text)
  }
}
