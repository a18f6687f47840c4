import ArgumentParser

@main
struct Bench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conifer-bench",
    abstract: "Compares storage backends at equal durability.",
    subcommands: subcommands)

  private static var subcommands: [any ParsableCommand.Type] {
    var all: [any ParsableCommand.Type] = [
      Run.self, Compare.self, Report.self, BarsOf.self, Counts.self, ClientCost.self,
      DocumentCost.self, FirestoreCost.self, Work.self,
    ]
    #if Network
      all.append(NetworkCost.self)
    #endif
    #if GRPC
      all += [GRPCCost.self, LoadDocuments.self, ServeDocuments.self]
    #endif
    return all
  }

  /// The default file that runs write and other commands read.
  static let usualFile = "conifer-bench.json"
}
