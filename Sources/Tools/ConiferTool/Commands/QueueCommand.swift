import ArgumentParser

/// The commands on the outbound queue.
struct QueueCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "queue", abstract: "Look at and mend the queue of writes for the server.",
    subcommands: [
      QueueListCommand.self, QueueShowCommand.self, QueueRetryCommand.self,
      QueueDiscardCommand.self,
    ])
}
