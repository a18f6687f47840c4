#if GRPC
  import ArgumentParser
  import ConiferBenchmark
  import ConiferSQLite
  import ConiferStorage
  import Foundation

  struct GRPCCost: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "grpc",
      abstract: "What clients of documents and their server do over gRPC, and within one process.",
      discussion: """
        Each measurement is in processes of its own: one for the clients, and over gRPC one for the server. \
        Rounds measure both ways one after the other; figures and ratios are medians of the rounds. Fails when \
        a write, or the news of it, is lost.
        """)

    @Flag(help: "Less of all: the order of things.")
    var quick = false

    @Flag(help: "Hardly anything: shows that everything runs; its figures say nothing.")
    var smoke = false

    @Option(help: "How often each is measured.")
    var rounds: Int?

    @Option(help: "How many batches each of the clients makes.")
    var batches: Int?

    @Option(help: "How many listeners the clients have in all.")
    var listeners: Int?

    @Option(help: "Where the raw record is written.")
    var json: String?

    @Option(help: "Where stores are made and removed.")
    var directory = NSTemporaryDirectory()

    func validate() throws {
      for (name, number) in [("rounds", rounds), ("batches", batches), ("listeners", listeners)] {
        guard number ?? 1 > 0 else { throw ValidationError("--\(name) is a number from 1.") }
      }
    }

    func run() async throws {
      var plan = smoke ? DocumentLoad.Plan.tiny : quick ? .quick : .init()
      plan.rounds = rounds ?? plan.rounds
      plan.batches = batches ?? plan.batches
      plan.listeners = listeners ?? plan.listeners
      var record = DocumentLoadRecord(plan, in: directory)
      for round in 0..<plan.rounds {
        for exercise in DocumentLoad.Exercise.allCases {
          let ways = DocumentLoad.Way.allCases
          for way in round.isMultiple(of: 2) ? ways : ways.reversed() {
            note("round \(round + 1): \(exercise.rawValue), \(way.rawValue)\n")
            let load = DocumentLoad(way, exercise, plan, in: directory)
            let order = String(decoding: try JSONEncoder().encode(load), as: UTF8.self)
            let figures = try await Worker.run(["load-documents", order])
            record.add(
              try JSONDecoder().decode([DocumentLoad.Figure].self, from: figures), way)
          }
        }
      }
      print(record.markdown)
      if let json { try record.json.write(to: URL(fileURLWithPath: json)) }
      guard record.missing.isEmpty else {
        throw BenchmarkFailure.process("there is no \(record.missing.joined(separator: ", no "))")
      }
    }
  }

  struct LoadDocuments: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Measures one exercise and prints its figures as JSON; grpc calls it.",
      shouldDisplay: false)

    @Argument(help: "The exercise, as JSON.")
    var order: String

    func run() async throws {
      let load = try JSONDecoder().decode(DocumentLoad.self, from: Data(order.utf8))
      let figures = try await load.run({ .sqlite(at: $0) }, program: Worker.program)
      FileHandle.standardOutput.write(try JSONEncoder().encode(figures))
    }
  }

  struct ServeDocuments: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Serves documents over gRPC until its input ends; load-documents calls it.",
      shouldDisplay: false)

    @Argument(help: "Where they are kept; in memory by default.")
    var path: String?

    func run() async throws {
      try await DocumentLoadServer.run(path.map { .sqlite(at: $0) } ?? .memory())
    }
  }
#endif
