import ArgumentParser

/// The root: it names the commands and does nothing itself.
struct ConiferCommand: ParsableCommand {
  /// The output of `--version`: the changelog's newest heading, and the format of records.
  static let version = "conifer, unreleased (records in format 1)"

  static let configuration = CommandConfiguration(
    commandName: "conifer",
    abstract: "A tree that survives: put JSON into a store, read, query, pin and queue it.",
    discussion: """
      Every command names its store by --store URL or by CONIFER_STORE, for example \
      lmdb:///var/data, sqlite://data?budget=10MB or memory://.
      """,
    version: Self.version,
    subcommands: [
      ImportCommand.self, ExportCommand.self, GetCommand.self, SetCommand.self,
      UpdateCommand.self, RemoveCommand.self, QueryCommand.self, IndexCommand.self, DocCommand.self,
      PinCommand.self, UnpinCommand.self, PinsCommand.self, EvictCommand.self, ExplainCommand.self,
      QueueCommand.self, QueriesCommand.self, TreesCommand.self, StatsCommand.self,
      IncidentsCommand.self, DoctorCommand.self,
      TidyCommand.self, CompactCommand.self, VerifyCommand.self, MigrateCommand.self,
      SalvageCommand.self, RotateCommand.self, EraseCommand.self, VerifyWorkerCommand.self,
      SalvageWorkerCommand.self, DoctorWorkerCommand.self,
      DemoCommand.self, DemoWriterCommand.self, DemoChatCommand.self,
    ] + sockets + documentSockets)

  /// The commands that need sockets.
  #if Network
    private static let sockets: [any ParsableCommand.Type] = [
      ServeCommand.self, InspectCommand.self, ClientDemoWriterCommand.self, DemoRelayCommand.self,
    ]
  #else
    private static let sockets: [any ParsableCommand.Type] = []
  #endif

  /// The commands that need gRPC too.
  #if Network && GRPC
    private static let documentSockets: [any ParsableCommand.Type] = [
      DocumentDemoProcessCommand.self
    ]
  #else
    private static let documentSockets: [any ParsableCommand.Type] = []
  #endif
}
