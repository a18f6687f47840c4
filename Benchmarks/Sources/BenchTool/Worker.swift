import ArgumentParser
import ConiferBenchmark
import ConiferKeyValue
import Foundation

/// A trial in a process of its own, so that its memory is its own.
enum Worker {
  /// The order for the process.
  struct Request: Codable {
    var candidate: String
    var durability: UInt8
    var exercise: Exercise
    var plan: Plan
    var round: Int
    var wanted: Set<Workload>
    var directory: String
  }

  static func run(_ trial: Trial, parent: String) async throws -> Outcome {
    let request = Request(
      candidate: trial.candidate.name, durability: trial.durability.rawValue,
      exercise: trial.exercise, plan: trial.plan, round: trial.round, wanted: trial.wanted,
      directory: parent)
    let data = try await run([
      "work", String(decoding: JSONEncoder().encode(request), as: UTF8.self),
    ])
    return try JSONDecoder().decode(Outcome.self, from: data)
  }

  /// The path of this program.
  static var program: String {
    URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
  }

  /// Runs this program with other arguments; returns its output.
  static func run(_ arguments: [String]) async throws -> Data {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    // Hash tables grow alike in every process then.
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["SWIFT_DETERMINISTIC_HASHING": "1"]) { $1 }
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      let words = arguments.prefix(2).joined(separator: " ")
      throw BenchmarkFailure.process("a process ended with \(process.terminationStatus): \(words)")
    }
    return data
  }
}

struct Work: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs one trial and prints its outcome as JSON; run calls it.", shouldDisplay: false)

  @Argument(help: "The trial, as JSON.")
  var request: String

  func run() async throws {
    let request = try JSONDecoder().decode(Worker.Request.self, from: Data(request.utf8))
    guard let candidate = Bench.candidates.first(where: { $0.name == request.candidate }),
      let durability = Durability(rawValue: request.durability)
    else { throw ValidationError("This build has no engine \(request.candidate).") }
    let outcome = try await Trial(
      candidate, durability, request.exercise, plan: request.plan, round: request.round,
      wanted: request.wanted, in: request.directory
    ).run()
    FileHandle.standardOutput.write(try JSONEncoder().encode(outcome))
  }
}
