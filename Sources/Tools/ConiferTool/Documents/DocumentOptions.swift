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

  /// The database that documents are named and references are checked with.
  func databaseID() throws(Failure) -> DatabaseID {
    let name = database ?? store.tree
    guard let id = DatabaseID(tree: name), database == nil || id.description == name else {
      throw .usage(
        "\(name) is no name of a database: give --database projects/P/databases/D, as Firestore names them."
      )
    }
    return id
  }

  /// Opens the store, creates it and the tree if they are missing, and closes it afterwards.
  func editing<R>(
    _ console: Console, _ body: (OpenDocumentTree) async throws -> R
  ) async throws -> R {
    let database = try databaseID()
    return try await store.editing(console, .documents) { opened in
      try await body(OpenDocumentTree(store: opened, database: database))
    }
  }

  /// Opens a store that is there, with a tree of documents that is there, and closes it afterwards.
  func reading<R>(
    _ console: Console, _ body: (OpenDocumentTree) async throws -> R
  ) async throws -> R {
    let database = try databaseID()
    return try await store.reading(console, .documents) { opened in
      try await body(OpenDocumentTree(store: opened, database: database))
    }
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
