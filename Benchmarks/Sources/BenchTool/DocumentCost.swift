import ArgumentParser
import ConiferBenchmark
import ConiferKeyValue
import Foundation

struct DocumentCost: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "documents",
    abstract:
      "What documents in a store cost beside raw SQLite and LMDB with a JSON document a row.",
    discussion: """
      Candidates load the same documents and answer the same queries in turns; figures are medians of
      the rounds. Fails when two of them find other documents.
      """)

  @Flag(help: "Fewer documents: the order of things.")
  var quick = false

  @Flag(help: "Hardly anything: shows that everything runs; its figures say nothing.")
  var smoke = false

  @Option(help: "How often each is measured.")
  var rounds: Int?

  @Option(help: "The backends that are measured.")
  var backends = "sqlite,lmdb"

  @Option(help: "What each commit survives: relaxed, process, power.")
  var durability = "power"

  @Flag(help: "Leaves out the same documents as trees with a leaf a field.")
  var withoutLeaves = false

  @Flag(help: "Fails when what is asked is missed.")
  var check = false

  @Option(help: "Where the raw record is written.")
  var json: String?

  @Option(help: "Where stores are made and removed.")
  var directory = NSTemporaryDirectory()

  func run() async throws {
    var plan = smoke ? DocumentComparison.Plan.tiny : quick ? .quick : .init()
    if let rounds { plan.rounds = max(1, rounds) }
    guard let level = Durability.allCases.first(where: { "\($0)" == durability }) else {
      throw ValidationError("\(durability) is no durability: relaxed, process or power.")
    }
    let chosen = try backends.split(separator: ",").map { name in
      guard let backend = ClientCost.backends.first(where: { $0.name == name }) else {
        throw ValidationError("\(name) is no backend: lmdb, sqlite or log.")
      }
      return backend
    }
    let record = try await DocumentComparison(
      chosen, in: directory, plan: plan, durability: level, hasLeaves: !withoutLeaves,
      progress: { note($0 + "\n") }
    ).run()
    print(record.markdown)
    if let json { try record.json.write(to: URL(fileURLWithPath: json)) }
    if check, record.bars.contains(where: { $0.value > $0.limit }) { throw ExitCode(1) }
  }
}
