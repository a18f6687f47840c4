import ArgumentParser
import ConiferBenchmark
import ConiferLMDB
import ConiferLog
import ConiferSQLite
import Foundation

struct ClientCost: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "client",
    abstract: "What the client costs above its backend, and what evictions and a long queue cost.",
    discussion: """
      Rooms are loaded and read with the client and without it, in turns; each figure is the median
      of the rounds. The server answers at once and costs next to nothing.
      """)

  @Option(help: "How many rooms of 400 leaves are loaded and read.")
  var rooms = 300

  @Option(help: "How many writes the long queue holds; 0 leaves the queue out.")
  var writes = 100_000

  @Option(help: "How often each is measured.")
  var rounds = 5

  @Option(help: "The backend alone that is measured.")
  var backend: String?

  @Option(help: "Where stores are made and removed.")
  var directory = NSTemporaryDirectory()

  @Flag(help: "Fails when loading or reading costs more than twice the backend's time.")
  var check = false

  static let backends = [
    ClientComparison.Backend("lmdb") { .lmdb(at: $0, options: $1) },
    ClientComparison.Backend("sqlite") { .sqlite(at: $0, options: $1) },
    ClientComparison.Backend("log") { .log(at: $0, options: $1) },
  ]

  func run() async throws {
    var isOver = false
    for backend in Self.backends where self.backend.map({ $0 == backend.name }) ?? true {
      let figures = try await ClientComparison(
        backend, in: directory, rooms: rooms, rounds: rounds
      ).run()
      for figure in figures { print(figure.line) }
      isOver = isOver || figures.contains { $0.isEven && $0.ratio > 2 }
      let eviction = EvictionCost(backend, in: directory, rooms: 10 * rooms)
      for line in try await eviction.run() { print(line) }
      guard writes > 0 else { continue }
      for line in try await QueueComparison(
        backend, in: directory, length: writes, rounds: rounds
      ).run() { print(line) }
    }
    if check, isOver { throw ExitCode(1) }
  }
}
