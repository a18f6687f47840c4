import ArgumentParser
import ConiferKeyValue
import ConiferStorage

/// The options of every command on a store.
struct StoreOptions: ParsableArguments {
  @Option(help: "The store's URL; CONIFER_STORE names it otherwise.")
  var store: String?

  @Option(help: "The tree in the store: its name.")
  var tree = "main"

  @Option(
    help: "The file with the store's key, if it is encrypted; CONIFER_KEY_FILE names it otherwise.",
    completion: .file())
  var keyFile: String?

  @Flag(help: "Print JSON, for programs.")
  var json = false

  /// The URL that the command line or the environment names.
  func url(_ console: Console) throws -> String {
    guard let url = store ?? console.environment("CONIFER_STORE"), !url.isEmpty else {
      let names = Tool.registry.kinds.map(\.name).joined(separator: ", ")
      throw Failure.usage(
        "No store is named: give --store URL or set CONIFER_STORE, for example lmdb:///path "
          + "(backends: \(names)).")
    }
    return url
  }

  /// The configuration of the URL; the cache has no budget unless the URL sets one.
  func configuration(_ console: Console) throws -> StorageConfiguration {
    let encryption = try KeyFile.encryption(in: KeyFile.path(keyFile, console), console)
    return try Tool.registry.configuration(
      url(console), defaults: StorageOptions(budget: nil, encryption: encryption))
  }
}

/// An open store and the tree in it that a command is about.
struct TreeStore {
  let backend: any StorageBackend
  let tree: TreeID
  let url: String
  var order = KeyOrder.realtimeDatabase

  /// How places in the tree are written.
  var places: TreePlaces { TreePlaces(order: order) }

  /// Commits at a durability, or at the strongest that the store can do when that is weaker.
  @discardableResult
  func commit(
    _ edits: [StorageEdit], _ wanted: Durability
  ) async throws(StoreError) -> CommitReceipt {
    try await backend.commit(edits, min(wanted, backend.traits.store.strongest))
  }
}

extension StoreOptions {
  /// Opens the store, creates it and the tree if they are missing, and closes it afterwards.
  func editing<R>(
    _ console: Console, _ content: TreeContent = .nodes, _ body: (TreeStore) async throws -> R
  ) async throws -> R {
    let configuration = try configuration(console)
    if try !Self.isPresent(configuration), let location = configuration.location,
      Platform.exists("\(location)/owner")
    {
      console.note(
        "conifer: a store was at \(location) before and its files are gone; a new one is made.")
    }
    return try await Self.opened(configuration) { backend in
      try await Self.tellingOfDamage(backend, console) {
        if let info = try existing(in: backend) { try content.require(info) }
        let tree = try await backend.tree(named: tree, order: content.order)
        let result = try await body(TreeStore(backend: backend, tree: tree, url: name(console)))
        try await Self.keepBudget(backend, console)
        return result
      }
    }
  }

  /// Finishes the backend's housekeeping between commits, since no commits follow.
  private static func keepBudget(
    _ backend: any StorageBackend, _ console: Console
  ) async throws {
    guard backend.traits.role == .cache, let evicting = backend as? any EvictingBackend,
      try evicting.space().isOverBudget
    else { return }
    let report = try await evicting.evict(to: nil, dryRun: false)
    console.note(
      "conifer: evicted to the budget: the cache took \(Figures.bytes(report.before)) and takes "
        + "\(Figures.bytes(report.after)), \(report.queries.count) queries went")
  }

  /// Opens a store that is there, with a tree that is there, and closes it afterwards.
  func reading<R>(
    _ console: Console, _ content: TreeContent = .nodes, _ body: (TreeStore) async throws -> R
  ) async throws -> R {
    try await inspecting(console) { backend in
      let info = try tree(in: backend)
      try content.require(info)
      return try await body(
        TreeStore(backend: backend, tree: info.id, url: name(console), order: info.order))
    }
  }

  /// The tree that is named, which must be there.
  func tree(in backend: any StorageBackend) throws -> TreeInfo {
    guard let info = try existing(in: backend) else {
      let trees = try backend.inspect { try $0.trees() }
      let names = trees.map { "\"\($0.name)\"" }.joined(separator: ", ")
      throw Failure.missing(
        "no-tree",
        "There is no tree \"\(tree)\" in this store; "
          + (trees.isEmpty ? "it has none yet: import or set makes it." : "it has: \(names)."))
    }
    return info
  }

  /// The tree that is named, or nil when there is none.
  private func existing(in backend: any StorageBackend) throws -> TreeInfo? {
    try backend.inspect { try $0.trees() }.first { $0.name.utf8.elementsEqual(tree.utf8) }
  }

  /// Opens a store that is there, and closes it afterwards.
  func inspecting<R>(
    _ console: Console, _ body: (any StorageBackend) async throws -> R
  ) async throws -> R {
    let configuration = try configuration(console)
    guard try Self.isPresent(configuration) else {
      throw Failure.missing(
        "no-store",
        "There is no store at \(configuration.location ?? ""); import or set makes one.")
    }
    return try await Self.opened(configuration) { backend in
      try await Self.tellingOfDamage(backend, console) { try await body(backend) }
    }
  }

  /// Tells when a command met damage and went on without it.
  private static func tellingOfDamage<R>(
    _ backend: any StorageBackend, _ console: Console, _ body: () async throws -> R
  ) async throws -> R {
    let before = try backend.inspect { try $0.incidentPosition() }
    let result = try await body()
    let met = try backend.inspect { try $0.incidentPosition() }.count(since: before)
    if met > 0 {
      console.note(
        "conifer: damaged: \(met) damaged records were set aside; what was told lacks their data. "
          + "conifer stats tells which, conifer queries --incomplete what to fetch again.")
    }
    return result
  }

  /// Whether a store of the backend is there; a damaged one, or one that may not be read, is.
  ///
  /// - Throws: `foreign` when there is one of another backend in its place.
  static func isPresent(_ configuration: StorageConfiguration) throws -> Bool {
    guard let location = configuration.location else { return true }
    func isThere(_ kind: StorageKind) -> Bool {
      !kind.files.allSatisfy { Platform.isMissing("\(location)/\($0)") }
    }
    let kinds = Tool.registry.kinds
    guard let own = kinds.first(where: { $0.name == configuration.name }), !isThere(own) else {
      return true
    }
    // A store whose main file is gone is there: opening it tells that it is damaged.
    let recorded = try OwnerLock.kind(in: location)
    if recorded == own.name { return true }
    if let other = recorded ?? kinds.first(where: { $0.name != own.name && isThere($0) })?.name {
      throw Failure(
        "foreign", .foreign,
        "\(location) holds a store of \(other), not of \(own.name): write "
          + "\(other)://\(location), or use another path.")
    }
    // Of some kind there was one, and opening it tells that.
    return try OwnerLock.hasDamagedKind(in: location)
  }

  /// Opens a store for the length of a closure.
  ///
  /// - Parameter isMaking: whether it may be one that is still being made.
  static func opened<R>(
    _ configuration: StorageConfiguration, isMaking: Bool = false,
    _ body: (any StorageBackend) async throws -> R
  ) async throws -> R {
    let backend =
      isMaking
      ? try UnfinishedStore.making { () throws(StoreError) in try configuration.open() }
      : try configuration.open()
    let result: R
    do {
      result = try await body(backend)
    } catch {
      // The first error is the one to report; the files are released anyway.
      try? await backend.close()
      throw error
    }
    try await backend.close()
    return result
  }

  private func name(_ console: Console) -> String {
    store ?? console.environment("CONIFER_STORE") ?? ""
  }
}
