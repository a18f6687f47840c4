import ArgumentParser
import ConiferBenchmark
import ConiferKeyValue
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import ConiferStorage
import Foundation
import JournalStore

@main
struct Bench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conifer-bench",
    abstract: "Compares storage backends at equal durability.", subcommands: [Run.self])

  /// The backends of the package, and the example of one from outside.
  static let candidates: [Candidate] = [
    Candidate(name: "lmdb") { .lmdb(at: $0, options: $1) },
    Candidate(name: "sqlite") { .sqlite(at: $0, options: $1) },
    Candidate(name: "log") { .log(at: $0, options: $1) },
    Candidate(name: "journal") { .journal(at: $0, options: $1) },
    .memory,
  ]
}

struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs the workloads on every backend and prints a table for each durability.")

  @Flag(help: "Enough to see that everything runs; its figures say little.")
  var quick = false

  @Option(help: "The durability of every commit: relaxed, process or power.")
  var durability: [String] = ["relaxed", "power"]

  @Option(help: "Where stores are made and removed.")
  var directory = NSTemporaryDirectory()

  @Option(help: "How many rooms of 400 leaves are loaded.")
  var rooms: Int?

  func run() async throws {
    var plan = quick ? Plan.quick : Plan()
    if let rooms { plan.rooms = max(1, rooms) }
    for name in durability {
      guard let level = Durability.allCases.first(where: { "\($0)" == name }) else {
        throw ValidationError("\(name) is no durability: relaxed, process or power.")
      }
      let table = try await Benchmark(Bench.candidates, plan: plan).run(level, in: directory) {
        FileHandle.standardError.write(Data("\(name): \($0), round \($1 + 1)\n".utf8))
      }
      print(table.markdown + "\n")
    }
  }
}
