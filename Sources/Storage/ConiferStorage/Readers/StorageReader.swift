public import ConiferKeyValue
import ConiferLeafStore
internal import Synchronization

/// A store as another process reads it beside its owner, such as a widget beside the app.
///
/// - It takes no owner's lock and changes nothing: damage is reported and never repaired, and what a
///   killed owner left is read as it is.
/// - Each read sees one commit, whole: the newest one that was durable when the read began, or a later
///   one. The next read sees the next ones; between reads an engine may keep its files open.
/// - A read that lasts keeps the owner from reusing space, as an open view does, so it should last
///   milliseconds. A killed reader leaves nothing behind that the owner does not clear by itself.
/// - Any thread may call everything.
public final class StorageReader: Sendable {
  /// The files that are read, and since when.
  private enum State {
    case open(any ReadableStore)
    /// The store's files are being exchanged, or were when they were last looked for.
    case lost
    case closed
  }

  /// The configuration that it was opened with.
  public let configuration: StorageConfiguration
  private let state: Mutex<State>

  init(_ configuration: StorageConfiguration) throws(StoreError) {
    self.configuration = configuration
    state = Mutex(.open(try configuration.readableStore()))
  }

  deinit { close() }

  /// Reads one consistent state; the closure runs on the caller's thread and should last milliseconds.
  ///
  /// - Throws: what the closure throws; `damaged` (the owner repairs or reports it when it next opens or reads
  ///   the store), `missing` (the owner took the store away), `newerFormat`, `wrongKey`, `busy`, `full` (no
  ///   reader slot left), `denied`, `io`, `closed` (also when the owner put other files in the place of these
  ///   while they were read: read again).
  public func read<R>(_ body: (any StorageView) throws(StoreError) -> R) throws(StoreError) -> R {
    try readPacked(body)
  }

  /// Reads one consistent state with its documents, as ``read(_:)`` does.
  ///
  /// - Throws: as ``read(_:)``.
  public func readDocuments<R>(
    _ body: (any DocumentView) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    try readPacked(body)
  }

  /// Releases the files; a second call does nothing.
  public func close() {
    let last = state.withLock { state in
      defer { state = .closed }
      return state
    }
    if case .open(let store) = last { store.close() }
  }

  private func readPacked<R>(
    _ body: (PackedView) throws(StoreError) -> R
  ) throws(StoreError) -> R {
    let store = try current()
    let view = try store.view()
    defer { view.close() }
    let options = configuration.options
    let frozen = try FrozenStore(view, store.traits).layered(options.encryption)
    let leaves = LeafStore(frozen, options.compression, cache: options.decodedCache)
    let snapshot = try leaves.openSnapshot()
    defer { snapshot.close() }
    guard try Trees.check(snapshot) else { throw FrozenStore.empty }
    guard try !RecoveryMarker.isSet(snapshot) else {
      throw StoreError(
        .damaged,
        "The store lost records, and its owner died before the others were made consistent: let the app "
          + "open it, then read again.")
    }
    return try body(PackedView(snapshot, keepsIndexes: options.encryption == nil))
  }

  /// The store's files, opened again where others have taken their place.
  private func current() throws(StoreError) -> any ReadableStore {
    try state.withLock { (state: inout State) throws(StoreError) in
      switch state {
      case .closed: throw StoreError(.closed, "The reader was closed: open another one.")
      case .open(let store):
        if store.isCurrent { return store }
        store.close()
      case .lost: break
      }
      state = .lost
      let store = try configuration.readableStore()
      state = .open(store)
      return store
    }
  }
}

extension StorageConfiguration {
  /// Opens the store for reading, beside the process that owns it or while nobody does; makes no store.
  ///
  /// Not in the process that owns the store: that reads through its own backend.
  ///
  /// - Throws: `unsupported` (storage in memory, and kinds that cannot be read beside their owner),
  ///   `missing` (nobody made the store yet), `invalid` (this process owns it), `foreign` (another kind of
  ///   store, or one that is not whole), `newerFormat`, `wrongKey`, `damaged`, `busy`, `denied`, `io`.
  public func openReader() throws(StoreError) -> StorageReader {
    let reader = try StorageReader(self)
    // Reports at once what every read would.
    try reader.read { (_) throws(StoreError) in }
    return reader
  }

  /// Opens what reads the files, after the checks that hold for all kinds.
  fileprivate func readableStore() throws(StoreError) -> any ReadableStore {
    guard let reading, let root else {
      throw StoreError(
        .unsupported,
        location == nil
          ? "Storage in memory belongs to one process: keep the data in SQLite, LMDB or the log to read it "
            + "from another."
          : "A store of \(name) cannot be read beside its owner: keep the data in SQLite, LMDB or the log, or "
            + "ask the process that owns it.")
    }
    guard !Directory.isMissing(root) else { throw StoreError.noStore(in: root) }
    try UnfinishedStore.check(root)
    if let other = try OwnerLock.kind(in: root), other != name {
      throw StoreError(
        .foreign,
        "\(root) holds a store of \(other), not of \(name), as its file owner says: read it as \(other)."
      )
    }
    guard !OwnerLock.isHeldHere(in: root) else {
      throw StoreError(
        .invalid,
        "This process owns the store in \(root): read it through the database that is open.")
    }
    return try reading(root)
  }
}

extension StoreError {
  /// The error of a reader for a place without a store.
  ///
  /// - Parameter directory: where it was looked for.
  public static func noStore(in directory: String) -> StoreError {
    StoreError(
      .missing,
      "There is no store in \(directory) yet: the app makes it when it first opens its database. Check "
        + "that both processes name the same directory.")
  }
}
