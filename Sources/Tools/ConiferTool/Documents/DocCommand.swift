import ArgumentParser

/// The commands on documents.
struct DocCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doc", abstract: "Read, write, query and copy documents in collections.",
    discussion: """
      Documents live in trees of their own: --tree names the database, for example \
      --tree 'projects/P/databases/(default)'. set and import make the store and the tree.
      """,
    subcommands: [
      DocGetCommand.self, DocSetCommand.self, DocUpdateCommand.self, DocDeleteCommand.self,
      DocQueryCommand.self, DocImportCommand.self, DocExportCommand.self, DocIndexesCommand.self,
    ])
}
