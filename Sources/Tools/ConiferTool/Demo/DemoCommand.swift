import ArgumentParser

/// The demos: the first one, unless another one is named.
struct DemoCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Show on real data what Conifer promises, killed processes included.",
    subcommands: [ClientDemoCommand.self, StoreDemoCommand.self],
    defaultSubcommand: ClientDemoCommand.self)
}
