import ArgumentParser
import ConiferBenchmark
import ConiferStorage
import Foundation

#if RocksDB
  import ConiferRocksDB
#endif

struct FirestoreCost: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "firestore",
    abstract: "What apps see of the client of documents: when listeners hear, and what it costs.",
    discussion: """
      Each round has all backends do the same below the client; figures are medians of the rounds. The
      server is in this process. Fails when a listener hears an error or lacks documents, and when a figure
      is missing.
      """)

  @Flag(help: "Fewer documents: the order of things.")
  var quick = false

  @Flag(help: "Hardly anything: shows that everything runs; its figures say nothing.")
  var smoke = false

  @Option(help: "How often each is measured.")
  var rounds: Int?

  @Option(help: "How many documents are in rooms of 100.")
  var documents: Int?

  @Option(help: "The backends that are measured; all that are built in unless named.")
  var backends: String?

  @Flag(help: "Fails when what is asked is missed.")
  var check = false

  @Option(help: "Where the raw record is written.")
  var json: String?

  @Option(help: "Where stores are made and removed.")
  var directory = NSTemporaryDirectory()

  private static var all: [ClientComparison.Backend] {
    var all = ClientCost.backends
    #if RocksDB
      all.append(ClientComparison.Backend("rocksdb") { .rocksdb(at: $0, options: $1) })
    #endif
    return all + [ClientComparison.Backend("memory") { _, options in .memory(options) }]
  }

  func run() async throws {
    var plan = smoke ? FirestoreComparison.Plan.tiny : quick ? .quick : .init()
    if let rounds { plan.rounds = max(1, rounds) }
    if let documents { plan.documents = max(100, documents / 100 * 100) }
    var chosen = Self.all
    if let backends {
      chosen = try backends.split(separator: ",").map { name in
        guard let backend = Self.all.first(where: { $0.name == name }) else {
          let names = Self.all.map(\.name).joined(separator: ", ")
          throw ValidationError("\(name) is no backend: \(names).")
        }
        return backend
      }
    }
    let record = try await FirestoreComparison(
      chosen, in: directory, plan: plan, progress: { note($0 + "\n") }
    ).run()
    print(record.markdown)
    if let json { try record.json.write(to: URL(fileURLWithPath: json)) }
    guard record.missing.isEmpty else {
      throw BenchmarkFailure.process("there is no \(record.missing.joined(separator: ", no "))")
    }
    if check, record.bars.contains(where: { $0.value > $0.limit }) { throw ExitCode(1) }
  }
}
