import ArgumentParser
import ConiferBenchmark
import ConiferKeyValue
import Foundation

struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs the workloads on every engine and prints a table for each durability.",
    discussion: """
      Each engine runs each exercise in a process and a directory of its own, five times, in turns.
      The run fails when engines do not hold the same at the end.
      """)

  @Flag(help: "Smaller sizes: the order of things, in less than five minutes.")
  var quick = false

  @Flag(help: "Hardly anything: shows that everything runs; its figures say nothing.")
  var smoke = false

  @Option(help: "Workloads to run, such as W1,W4; all by default.")
  var only: String?

  @Option(help: "Engines to run, such as log,raw LMDB; all by default.")
  var engines: String?

  @Option(help: "Durabilities, each with a table of its own: relaxed, process, power.")
  var durability = "relaxed,process,power"

  @Option(help: "How often; medians are shown.")
  var rounds: Int?

  @Option(help: "Where the raw record is written.")
  var json = Bench.usualFile

  @Option(help: "Where stores are made and removed.")
  var directory = NSTemporaryDirectory()

  func run() async throws {
    var plan = smoke ? Plan.tiny : quick ? Plan.quick : Plan()
    if let rounds { plan.rounds = max(1, rounds) }
    let benchmark = Benchmark(
      try chosenEngines(), plan: plan, workloads: try chosenWorkloads())
    let record = try await benchmark.run(
      try chosenDurabilities(), in: directory,
      progress: { trial in
        note("\(trial.durability) \(trial.exercise) \(trial.candidate.name), \(trial.round + 1)\n")
      },
      perform: { try await Worker.run($0, parent: directory) })
    try record.json.write(to: URL(fileURLWithPath: json))
    print(record.headline + "\n")
    print(Summary(record).markdown())
    note("The raw record is in \(json); conifer-bench report makes a page of it.\n")
  }

  private func chosenWorkloads() throws -> Set<Workload> {
    guard let only else { return Set(Workload.allCases) }
    return Set(
      try only.split(separator: ",").map { name in
        guard let workload = Workload(rawValue: name.uppercased()) else {
          throw ValidationError("\(name) is no workload: W1 to W12.")
        }
        return workload
      })
  }

  private func chosenEngines() throws -> [Candidate] {
    guard let engines else { return Bench.candidates.filter { plain($0) } }
    return try engines.split(separator: ",").map { name in
      guard let candidate = Bench.candidates.first(where: { $0.name == name }) else {
        let names = Bench.candidates.map(\.name).joined(separator: ", ")
        throw ValidationError("\(name) is no engine of this build; there are: \(names).")
      }
      return candidate
    }
  }

  /// Variants of a backend take part only in whole runs.
  private func plain(_ candidate: Candidate) -> Bool {
    candidate.kind != .variant || !(quick || smoke)
  }

  private func chosenDurabilities() throws -> [Durability] {
    let names = quick || smoke ? "relaxed,power" : durability
    return try (durability == "relaxed,process,power" ? names : durability)
      .split(separator: ",").map { name in
        guard let level = Durability.allCases.first(where: { "\($0)" == name }) else {
          throw ValidationError("\(name) is no durability: relaxed, process or power.")
        }
        return level
      }
  }
}

/// Tells of progress.
func note(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
