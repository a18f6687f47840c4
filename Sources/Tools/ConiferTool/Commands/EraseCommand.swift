import ArgumentParser
import ConiferEncryption
import ConiferKeyValue
import ConiferStorage

/// Destroys the key of a queue, a tree or a whole store.
struct EraseCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "erase",
    abstract: "Make a queue, a tree or all of an encrypted store unreadable, for ever.",
    discussion: """
      The key is destroyed, in one commit: nobody reads the records again, and what is queued is \
      never sent. They stay where they are, and conifer verify counts them. Backups, and pages that \
      the engine has not used again, still hold the wrapped key: rotate afterwards and destroy the \
      old key to make those worthless too.
      """)

  @Option(help: "The store's URL; CONIFER_STORE names it otherwise.")
  var store: String?
  @Option(
    help: "The file with the store's key; CONIFER_KEY_FILE names it otherwise.",
    completion: .file())
  var keyFile: String?
  @Option(help: "The tree: its data and all of its queues, or with --lane only that queue.")
  var tree: String?
  @Option(help: "The queue of an identity, in --tree or the tree that other commands would take.")
  var lane: String?
  @Flag(help: "Everything; the store cannot be opened any more.")
  var all = false
  @Flag(help: "Do it: nothing brings back what was erased.")
  var confirm = false
  @Flag(help: "Print JSON, for programs.")
  var json = false

  func validate() throws {
    guard all != (tree != nil || lane != nil) else {
      throw ValidationError("Name what to erase: --lane IDENTITY, --tree NAME, or --all.")
    }
  }

  func run(_ console: Console) async throws {
    var options = StoreOptions()
    (options.store, options.keyFile, options.json) = (store, keyFile, json)
    options.tree = tree
    guard let path = KeyFile.path(keyFile, console), !path.isEmpty else {
      throw Failure.usage("The store's key is not named: give --key-file FILE.")
    }
    #if Encryption
      try await erase(options, StoreAddress(options.url(console), keyFile: path, console), console)
    #else
      _ = try KeyFile.encryption(in: path, console)
    #endif
  }

  #if Encryption
    private func erase(
      _ options: StoreOptions, _ address: StoreAddress, _ console: Console
    ) async throws {
      try address.mustBePresent()
      let configuration = try address.configuration(role: .authority)
      let words = try await StoreOptions.opened(configuration, telling: console) {
        backend in
        let (scope, words) = try target(backend, options)
        guard confirm else {
          throw Failure.usage("This would erase \(words), for ever: add --confirm to do it.")
        }
        guard let encrypted = backend as? PackedBackend<EncryptedStore> else {
          throw Failure(
            "unsupported", .usage, "The backend \(configuration.name) has no keys of its own.")
        }
        try await encrypted.withStore { (store) throws(StoreError) in try store.erase(scope) }
        return words
      }
      try console.print(
        json ? Report.object([("erased", .string(words))]).compact : "erased \(words)")
    }

    /// The scope to erase, with a description.
    private func target(
      _ backend: any StorageBackend, _ options: StoreOptions
    ) throws -> (StoreScope, String) {
      if all { return (.store, "the whole store") }
      let info = try options.tree(.any, in: backend)
      guard let lane else { return (.tree(info.id), "tree \"\(info.name)\" with its queues") }
      let own = Lane(tree: info.id, identity: lane)
      let lanes = try backend.inspect { try $0.lanes(info.id) }
      guard lanes.contains(own) else {
        let names = lanes.map { "\"\($0.identity)\"" }.joined(separator: ", ")
        throw Failure.missing(
          "no-queue",
          "There is no queue of \"\(lane)\" in the tree \"\(info.name)\""
            + (names.isEmpty ? "." : "; it has queues of: \(names)."))
      }
      return (.lane(own), "the queue of \"\(lane)\" in tree \"\(info.name)\"")
    }
  #endif
}
