#if Network
  import ArgumentParser
  import ConiferBenchmark

  struct NetworkCost: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "network",
      abstract: "What clients and the local server do over sockets of this machine.",
      discussion: """
        Clients and server are in this process and in memory. Fails when a write is lost.
        """)

    @Option(help: "How many clients write at once.")
    var clients = 8

    @Option(help: "How many writes each makes.")
    var writes = 10_000

    @Option(help: "How many listeners they have in all, and connections a change is fanned out to.")
    var listeners = 1000

    @Option(help: "How often each is measured.")
    var rounds = 5

    func run() async throws {
      let load = NetworkLoad(
        clients: clients, writes: writes, listeners: listeners, rounds: rounds)
      for line in try await load.run() { print(line) }
    }
  }
#endif
