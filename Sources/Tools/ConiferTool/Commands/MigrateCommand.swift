import ArgumentParser

/// Copies a store into one of another backend.
struct MigrateCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Copy a store into a new one of any backend, and compare the two.",
    discussion: """
      Everything comes over: trees, tracked queries with their keys and numbers, pins, queues with \
      their order, numbers, states, rejected writes and remembered ends, metadata and reports of \
      damage. A migration that was killed goes on where it was when it is run again. The source is \
      only read; --confirm gives its directory another name once both hold the same, and may also \
      be given in a later run.
      """)

  @Argument(help: "The source's URL.")
  var from: String
  @Argument(help: "The new store's URL.")
  var to: String
  @Option(help: "The file with the source's key, if it is encrypted.", completion: .file())
  var fromKeyFile: String?
  @Option(help: "The file with the new store's key, if it is to be encrypted.", completion: .file())
  var toKeyFile: String?
  @Flag(help: "Set the source's directory aside when the copy was found to be the same.")
  var confirm = false
  @Flag(help: "Print JSON, for programs.")
  var json = false

  func run(_ console: Console) async throws {
    let migration = Migration(
      source: try StoreAddress(from, keyFile: fromKeyFile, console),
      target: try StoreAddress(to, keyFile: toKeyFile, console), console: console)
    let outcome = try await migration.run(confirm: confirm)
    guard !json else {
      return try console.print(
        Report.object([
          ("digest", .string(outcome.digest)), ("wasDone", .bool(outcome.wasDone)),
          ("aside", .optional(outcome.aside)),
        ]).compact)
    }
    try console.print(
      outcome.wasDone
        ? "was migrated before, with digest \(outcome.digest); the stores were not compared again"
        : "migrated; both stores have the digest \(outcome.digest)")
    if let aside = outcome.aside {
      try console.print("the source is \(aside) now and can be removed")
    } else {
      try console.print("the source is as it was; run again with --confirm to set it aside")
    }
  }
}
