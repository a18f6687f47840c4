import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Synchronization

/// A database as a process beside its owner uses it, such as a widget or a share extension beside the app: it
/// reads what the app has stored, and leaves writes for the app to send.
///
/// ```swift
/// var configuration = DatabaseConfiguration(namespace: "my-app", storage: .sqlite(at: groupDirectory))
/// let companion = CompanionDatabase(configuration)
/// let title = try companion.getData(at: "rooms/r1/title").value
/// try companion.setValue("Attic", at: "rooms/r1/title")
/// ```
///
/// - It never opens the store as its owner, connects to no server, and changes nothing in the store. The app may
///   run, be suspended or be gone meanwhile.
/// - A write is a file beside the store that survives power loss when the call returns. The app takes it into its
///   queue when it next opens or resumes its database, or calls ``Database/takeMail()``; reads do not show it
///   before.
/// - Any thread may call everything; calls block as long as reading and writing files does.
public final class CompanionDatabase: Sendable {
  private let configuration: DatabaseConfiguration
  private let storage: StorageConfiguration
  /// Whether it has no server, so that the store is the authority, and the queue of its owner is in memory.
  private let isLocal: Bool
  private let sender: MailSender?
  /// The reader of the store, from the first read on.
  private let reader = Mutex<StorageReader?>(nil)

  /// A database beside its owner; nothing is opened yet.
  ///
  /// - Parameter configuration: names the same namespace, storage, options and encryption as the app's. Of the rest, only
  ///   the clock counts.
  public init(_ configuration: DatabaseConfiguration) {
    self.configuration = configuration
    isLocal = configuration.localAuthority != nil
    storage = isLocal ? configuration.authorityStorage : configuration.effectiveStorage
    sender = isLocal ? nil : storage.mailbox.map { MailSender($0) }
  }

  deinit { close() }

  /// Releases the store's files, until the next read: an app extension should not keep them while it is suspended.
  public func close() {
    let open = reader.withLock { reader in
      defer { reader = nil }
      return reader
    }
    open?.close()
  }

  // MARK: Reading

  /// What is stored at a place, with the waiting writes of a user over it, as it is in the newest commit.
  ///
  /// - Parameters:
  ///   - path: keys separated by slashes, such as `rooms/r1`.
  ///   - user: whose writes are shown; nil for those of the user who was signed in last, as the app has stored it.
  /// - Throws: `storageMissing` (the app has not made the store, or nothing in it, yet), `invalidPath`,
  ///   `storageDamaged`, `storageBusy`, `storageFailure` (also a kind of storage that cannot be read beside its
  ///   owner).
  public func getData(
    at path: String, of user: String? = nil
  ) throws(DatabaseError) -> CompanionSnapshot {
    let place = Path(path)
    if let fault = WriteRules.fault(place) { throw fault }
    return try reading { (view, tree) throws(StoreError) in
      var identity = user
      if identity == nil { identity = try lastUser(view, tree) }
      let lane = Lane(tree: tree, identity: identity ?? "")
      return try CompanionSnapshot(
        view, lane, place, isAuthority: isLocal, time: configuration.clock.wallTime)
    }
  }

  private func lastUser(_ view: any StorageView, _ tree: TreeID) throws(StoreError) -> String? {
    try SignedInUser.lastIdentity(view, tree)
  }

  private func reading<R>(
    _ body: (any StorageView, TreeID) throws(StoreError) -> R
  ) throws(DatabaseError) -> R {
    do throws(StoreError) {
      return try openReader().read { (view) throws(StoreError) in
        let name = configuration.namespace
        guard let tree = try view.trees().first(where: { $0.name.utf8.elementsEqual(name.utf8) })
        else {
          throw StoreError(
            .missing,
            "The store has no database \(name) yet: check the namespace, or let the app open it once."
          )
        }
        return try body(view, tree.id)
      }
    } catch {
      throw DatabaseError(error, "The app's storage could not be read")
    }
  }

  private func openReader() throws(StoreError) -> StorageReader {
    try reader.withLock { (reader: inout StorageReader?) throws(StoreError) in
      if let reader { return reader }
      let opened = try storage.openReader()
      reader = opened
      return opened
    }
  }

  // MARK: Writing

  /// Leaves a write for the app.
  ///
  /// - Parameters:
  ///   - write: what to write, such as `.set("Attic")`.
  ///   - path: where.
  ///   - user: whose write it is; nil for the user who was signed in last, as the app has stored it, or nobody where
  ///     there is no store yet. It waits until that user is signed in.
  /// - Throws: why the write is invalid; `tooLarge`; `storageFull` and `storageFailure`, after which nothing was left
  ///   (but that a failing disk may keep it all the same); as ``getData(at:of:)``, when `user` is nil.
  public func enqueue(
    _ write: WriteOperation, at path: String, as user: String? = nil
  ) throws(DatabaseError) {
    guard let sender else {
      throw DatabaseError(
        .invalidConfiguration,
        isLocal
          ? "A database without a server takes no writes of other processes."
          : "Storage in memory has no other process.",
        remedy: isLocal
          ? "Hand them to the app in another way." : "Name the app's storage in the configuration.")
    }
    let place = Path(path)
    if let fault = WriteRules.fault(place) { throw fault }
    let local = try WriteRules.write(write, at: place)
    if case .update(_, let changes) = local, changes.isEmpty { return }
    let now = configuration.clock.wallTime
    var identity = user
    if identity == nil { identity = try storedUser() }
    let mail = Mail(
      tree: configuration.namespace, identity: identity ?? "",
      payload: local.content(time: now).payload)
    do throws(StoreError) {
      try sender.send(mail, at: now)
    } catch {
      throw DatabaseError(error, "The write to \(place) was not left for the app")
    }
  }

  private func storedUser() throws(DatabaseError) -> String? {
    do throws(DatabaseError) {
      return try reading { (view, tree) throws(StoreError) in try lastUser(view, tree) }
    } catch {
      guard error.code == .storageMissing else { throw error }
      return nil
    }
  }

  /// Leaves a write for the app that replaces what is at a place.
  ///
  /// - Parameters:
  ///   - value: as `DatabaseReference.setValue` takes it.
  ///   - path: where.
  ///   - user: as in ``enqueue(_:at:as:)``.
  /// - Throws: as ``enqueue(_:at:as:)``.
  public func setValue(
    _ value: Any?, at path: String, as user: String? = nil
  ) throws(DatabaseError) { try enqueue(.set(value), at: path, as: user) }

  /// Leaves a write for the app that replaces several places below one at once, all or none.
  ///
  /// - Parameters:
  ///   - values: as `DatabaseReference.updateChildValues` takes them.
  ///   - path: the place that they are below of.
  ///   - user: as in ``enqueue(_:at:as:)``.
  /// - Throws: as ``enqueue(_:at:as:)``.
  public func updateChildValues(
    _ values: [AnyHashable: Any], at path: String, as user: String? = nil
  ) throws(DatabaseError) { try enqueue(.update(values), at: path, as: user) }

  /// Leaves a write for the app that deletes what is at a place.
  ///
  /// - Parameters:
  ///   - path: where.
  ///   - user: as in ``enqueue(_:at:as:)``.
  /// - Throws: as ``enqueue(_:at:as:)``.
  public func removeValue(at path: String, as user: String? = nil) throws(DatabaseError) {
    try enqueue(.remove, at: path, as: user)
  }
}
