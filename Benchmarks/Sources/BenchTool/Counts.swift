import ArgumentParser
import ConiferBenchmark
import ConiferKeyValue
import Foundation

struct Counts: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Counts flushes, bytes written and allocations of the hot paths; times nothing.",
    discussion: """
      With --check it fails when a count exceeds its limit, and tells which limits are to be lowered.
      """)

  @Option(help: "Limits to hold.")
  var check: String?

  @Option(help: "Where the counts are written as limits.")
  var write: String?

  @Option(help: "Where stores are made and removed.")
  var directory = NSTemporaryDirectory()

  @Option(help: .hidden)
  var engine: String?

  func run() async throws {
    if let engine { return try await countOne(engine) }
    var counts = OperationCounts()
    for candidate in Bench.candidates
    where candidate.kind == .backend && candidate.strongest == .power {
      // In a process of its own: only one engine's threads may allocate.
      let data = try await Worker.run(
        ["counts", "--engine", candidate.name, "--directory", directory])
      let own = try JSONDecoder().decode(OperationCounts.self, from: data)
      counts.candidates.merge(own.candidates) { $1 }
    }
    if let write { try counts.json.write(to: URL(fileURLWithPath: write)) }
    guard let check else {
      return print(String(decoding: try counts.json, as: UTF8.self))
    }
    let differences = counts.differences(from: try OperationCounts(contentsOf: check))
    for difference in differences { print(difference) }
    if differences.contains(where: \.isExceeded) { throw ExitCode(1) }
    print("\(counts.candidates.count) backends are within their limits")
  }

  private func countOne(_ name: String) async throws {
    guard let candidate = Bench.candidates.first(where: { $0.name == name }) else {
      throw ValidationError("This build has no engine \(name).")
    }
    var counts = OperationCounts()
    try await counts.count(candidate, in: directory)
    FileHandle.standardOutput.write(try JSONEncoder().encode(counts))
  }
}
