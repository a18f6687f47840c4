import ArgumentParser

/// The demos: the first one, unless another one is named.
struct DemoCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Show on real data what Conifer promises, killed processes included.",
    subcommands: demos, defaultSubcommand: demos.first)

  // A client needs a network to its server.
  #if Network
    private static let demos: [any ParsableCommand.Type] = [
      ClientDemoCommand.self, StoreDemoCommand.self,
    ]
  #else
    private static let demos: [any ParsableCommand.Type] = [StoreDemoCommand.self]
  #endif
}
