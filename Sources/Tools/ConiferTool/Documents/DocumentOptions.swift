import ArgumentParser
import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferWire

/// The options of every command on documents.
struct DocumentOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The database's name, projects/P/databases/D; by default the tree's name, or "
        + "projects/TREE/databases/(default) for one without slashes."))
  var database: String?
  @OptionGroup var store: StoreOptions

  /// The database of a tree, which documents are named and references are checked with.
  private func databaseID(_ tree: String) throws(Failure) -> DatabaseID {
    let name = database ?? tree
    guard let id = DatabaseID(tree: name), database == nil || id.description == name else {
      throw .usage(
        "\(name) is no name of a database: give --database projects/P/databases/D, as Firestore names them."
      )
    }
    return id
  }

  /// Opens the store, creates it and the tree if they are missing, and closes it afterwards.
  ///
  /// - Parameter prepare: checks the input for the database, before anything is made.
  func editing<P, R>(
    _ console: Console, prepare: (DatabaseID) throws -> P,
    _ body: (OpenDocumentTree, P) async throws -> R
  ) async throws -> R {
    try await store.editing(console, .documents, prepare: { try checked($0, prepare) }) {
      try await body(OpenDocumentTree(store: $0, database: $1.0), $1.1)
    }
  }

  /// Opens a store that is there, with a tree of documents that is there, and closes it afterwards.
  ///
  /// - Parameter prepare: checks the input for the database; what is wrong with it is told also without a store.
  func reading<P, R>(
    _ console: Console, prepare: (DatabaseID) throws -> P,
    _ body: (OpenDocumentTree, P) async throws -> R
  ) async throws -> R {
    try await store.reading(console, .documents, prepare: { try checked($0, prepare) }) {
      try await body(OpenDocumentTree(store: $0, database: $1.0), $1.1)
    }
  }

  /// Opens a store that is there, with a tree of documents that is there, and closes it afterwards.
  func reading<R>(
    _ console: Console, _ body: (OpenDocumentTree) async throws -> R
  ) async throws -> R {
    try await reading(console, prepare: { _ in }) { opened, _ in try await body(opened) }
  }

  private func checked<P>(
    _ tree: String, _ prepare: (DatabaseID) throws -> P
  ) throws -> (DatabaseID, P) {
    let database = try databaseID(tree)
    return (database, try prepare(database))
  }
}

/// An open store and the tree of documents in it that a command is about.
struct OpenDocumentTree {
  let store: TreeStore
  let database: DatabaseID

  var backend: any StorageBackend { store.backend }
  var tree: TreeID { store.tree }

  /// The queue of an identity.
  func lane(_ identity: String) -> Lane { Lane(tree: tree, identity: identity) }
}
