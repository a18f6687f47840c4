import ArgumentParser
import ConiferKeyValue
import ConiferStorage

/// The options of every command on a store.
struct StoreOptions: ParsableArguments {
  @Option(help: "The store's URL; CONIFER_STORE names it otherwise.")
  var store: String?

  @Option(help: "The tree in the store: its name; by default the only one, or main of several.")
  var tree: String?

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
  ///
  /// - Parameter role: that of a store whose URL names none.
  func configuration(
    _ console: Console, role: StoreRole = .cache
  ) throws -> StorageConfiguration {
    let encryption = try KeyFile.encryption(in: KeyFile.path(keyFile, console), console)
    return try Tool.registry.configuration(
      url(console), defaults: StorageOptions(budget: nil, role: role, encryption: encryption))
  }
}

/// An open store and the tree in it that a command is about.
struct TreeStore {
  let backend: any StorageBackend
  let tree: TreeID
  let name: String
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
  /// The tree that is made in an empty store, unless one is named.
  static let defaultTree = "main"

  /// Opens the store, creates it and the tree if they are missing, and closes it afterwards.
  ///
  /// - Parameter prepare: checks the input for the tree of the name, before anything is made.
  func editing<P, R>(
    _ console: Console, _ content: TreeContent = .nodes, prepare: (String) throws -> P,
    _ body: (TreeStore, P) async throws -> R
  ) async throws -> R {
    let configuration = try configuration(console)
    let isPresent = try Self.isPresent(configuration)
    let checked = isPresent ? nil : try prepare(tree ?? Self.defaultTree)
    if !isPresent, let location = configuration.location, Platform.exists("\(location)/owner") {
      console.note(
        "conifer: a store was at \(location) before and its files are gone; a new one is made.")
    }
    return try await Self.opened(configuration) { backend in
      try await Self.tellingOfDamage(backend, console) {
        let info = try existing(content, in: backend)
        if let info {
          try content.require(info)
          if self.tree == nil, info.name != Self.defaultTree {
            console.note("conifer: the tree is \"\(info.name)\", the only one of its kind")
          }
        }
        let treeName = info?.name ?? self.tree ?? Self.defaultTree
        let prepared = try checked ?? prepare(treeName)
        let tree = try await backend.tree(named: treeName, order: content.order)
        let store = TreeStore(backend: backend, tree: tree, name: treeName, url: name(console))
        let result = try await body(store, prepared)
        try await Self.keepBudget(backend, console)
        return result
      }
    }
  }

  /// Opens the store, creates it and the tree if they are missing, and closes it afterwards.
  func editing<R>(
    _ console: Console, _ content: TreeContent = .nodes, _ body: (TreeStore) async throws -> R
  ) async throws -> R {
    try await editing(console, content, prepare: { _ in }) { store, _ in try await body(store) }
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
  ///
  /// - Parameter prepare: checks the input for the tree of the name; what is wrong with it is told also without a store.
  func reading<P, R>(
    _ console: Console, _ content: TreeContent = .nodes, prepare: (String) throws -> P,
    _ body: (TreeStore, P) async throws -> R
  ) async throws -> R {
    if try !Self.isPresent(configuration(console)) { _ = try prepare(tree ?? Self.defaultTree) }
    return try await inspecting(console) { backend in
      let info = try tree(content, in: backend)
      let prepared = try prepare(info.name)
      let store = TreeStore(
        backend: backend, tree: info.id, name: info.name, url: name(console), order: info.order)
      return try await body(store, prepared)
    }
  }

  /// Opens a store that is there, with a tree that is there, and closes it afterwards.
  func reading<R>(
    _ console: Console, _ content: TreeContent = .nodes, _ body: (TreeStore) async throws -> R
  ) async throws -> R {
    try await reading(console, content, prepare: { _ in }) { store, _ in try await body(store) }
  }

  /// The tree that is named, or the one to take when none is, which must be there.
  func tree(_ content: TreeContent, in backend: any StorageBackend) throws -> TreeInfo {
    let trees = try backend.inspect { try $0.trees() }
    // Of a single tree that holds something else, the refusal tells what it holds.
    let other = tree == nil && trees.count == 1 ? trees[0] : nil
    guard let info = try existing(content, in: backend) ?? other else {
      let what = tree.map { "tree \"\($0)\"" } ?? content.words
      throw Failure.missing(
        "no-tree",
        "There is no \(what) in this store; "
          + (trees.isEmpty
            ? "it has none yet: import or set makes it." : "it has: \(Self.names(trees))."))
    }
    try content.require(info)
    return info
  }

  /// The tree that is named; when none is, the only one that holds the content, or `main`.
  ///
  /// - Returns: nil when there is none.
  /// - Throws: `no-tree` when none is named and none of several is called `main`.
  private func existing(
    _ content: TreeContent, in backend: any StorageBackend
  ) throws -> TreeInfo? {
    let trees = try backend.inspect { try $0.trees() }
    let named = trees.first { $0.name.utf8.elementsEqual((tree ?? Self.defaultTree).utf8) }
    guard tree == nil else { return named }
    let fitting = trees.filter { content.fits($0) }
    if fitting.count == 1 { return fitting[0] }
    guard fitting.count > 1 else { return named }
    if let named, content.fits(named) { return named }
    throw Failure.missing(
      "no-tree",
      "The store has several trees: name one with --tree; it has: \(Self.names(fitting)).")
  }

  private static func names(_ trees: [TreeInfo]) -> String {
    trees.map { "\"\($0.name)\"" }.joined(separator: ", ")
  }

  /// Opens a store that is there, and closes it afterwards.
  ///
  /// - Parameter role: that of a store whose URL names none.
  func inspecting<R>(
    _ console: Console, role: StoreRole = .cache,
    _ body: (any StorageBackend) async throws -> R
  ) async throws -> R {
    let configuration = try configuration(console, role: role)
    guard try Self.isPresent(configuration) else {
      throw Failure.missing(
        "no-store",
        "There is no store at \(configuration.location ?? ""); import or set makes one.")
    }
    return try await Self.opened(configuration) { backend in
      try await Self.tellingOfDamage(backend, console) { try await body(backend) }
    }
  }

  /// Tells what opening the store reported of it.
  static func tellOfOpening(_ backend: any StorageBackend, _ console: Console) {
    if let incident = backend.incidentOfOpening() {
      console.note("conifer: damaged: \(incident)")
    }
  }

  /// Tells when a command met damage and went on without it.
  private static func tellingOfDamage<R>(
    _ backend: any StorageBackend, _ console: Console, _ body: () async throws -> R
  ) async throws -> R {
    tellOfOpening(backend, console)
    let before = try backend.inspect { try $0.incidentPosition() }
    let result = try await body()
    let met = try backend.inspect { try $0.incidentPosition() }.count(since: before)
    if met > 0 {
      console.note(
        backend.traits.role == .cache
          ? "conifer: damaged: \(met) damaged records were set aside; what was told lacks their data. "
            + "conifer stats tells which, conifer queries --incomplete what to fetch again."
          : "conifer: damaged: \(met) damaged records were met. Data stays as it is, and nothing of it was dropped: "
            + "role=cache in the URL of an app's cache does that. conifer stats tells which they are."
      )
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
  /// - Parameters:
  ///   - isMaking: whether it may be one that is still being made.
  ///   - console: where it is told what opening reported of the store; nil for who tells it otherwise.
  static func opened<R>(
    _ configuration: StorageConfiguration, isMaking: Bool = false, telling console: Console? = nil,
    _ body: (any StorageBackend) async throws -> R
  ) async throws -> R {
    let backend =
      isMaking
      ? try UnfinishedStore.making { () throws(StoreError) in try configuration.open() }
      : try configuration.open()
    let result: R
    do {
      if let console { tellOfOpening(backend, console) }
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
