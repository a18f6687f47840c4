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
  private let opened = Mutex<Open?>(nil)

  /// A reader, and who reads.
  private struct Open {
    let reader: StorageReader
    var reads = 0
    /// Whether it is closed when the last read ends.
    var isClosing = false
  }

  /// A database beside its owner; nothing is opened yet.
  ///
  /// - Parameter configuration: names the same namespace, storage, options and encryption as the app's. Of the rest, only
  ///   the clock counts, and whether there is a server: a token provider is never asked.
  public init(_ configuration: DatabaseConfiguration) {
    self.configuration = configuration
    isLocal = configuration.localAuthority != nil
    storage = isLocal ? configuration.authorityStorage : configuration.effectiveStorage
    sender = isLocal ? nil : storage.mailbox.map { MailSender($0) }
  }

  deinit { close() }

  /// Releases the store's files, until the next read: an app extension should not keep them while it is suspended.
  ///
  /// Those of a read that is under way on another thread are released when it ends.
  public func close() {
    opened.withLock { opened in
      opened?.isClosing = true
      Self.closeUnread(&opened)
    }
  }

  /// Closes the reader if nobody reads, and it is to be closed then; under the lock, as LMDB has one reader a process.
  private static func closeUnread(_ opened: inout Open?) {
    guard let last = opened, last.isClosing, last.reads == 0 else { return }
    last.reader.close()
    opened = nil
  }

  // MARK: Reading

  /// What is stored at a place, with the waiting writes of a user over it, as it is in the newest commit.
  ///
  /// - Parameters:
  ///   - path: keys separated by slashes, such as `rooms/r1`.
  ///   - user: whose writes are shown; nil for those of the user who was signed in last, as the app has stored it, or
  ///     nobody's where that user may have changed.
  /// - Throws: `storageMissing` (the app has not made the store, or nothing in it, yet), `invalidPath`,
  ///   `invalidConfiguration`, `storageDamaged`, `storageBusy`, `closed` (the store's files were exchanged during the
  ///   read, or this process opened it as its owner), `storageFailure` (also a kind of storage that cannot be read beside
  ///   its owner).
  public func getData(
    at path: String, of user: String? = nil
  ) throws(DatabaseError) -> CompanionSnapshot {
    let place = Path(path)
    if let fault = WriteRules.fault(place) { throw fault }
    return try reading { (view, tree) throws(StoreError) in
      var identity = user
      if identity == nil { identity = try SignedInUser.last(view, tree) }
      let lane = Lane(tree: tree, identity: identity ?? "")
      return try CompanionSnapshot(
        view, lane, place, isAuthority: isLocal, time: configuration.clock.wallTime)
    }
  }

  private func reading<R>(
    _ body: (any StorageView, TreeID) throws(StoreError) -> R
  ) throws(DatabaseError) -> R {
    if let fault = configuration.fault { throw fault }
    do throws(StoreError) {
      let reader = try beginReading()
      defer { endReading() }
      return try reader.read { (view) throws(StoreError) in
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

  private func beginReading() throws(StoreError) -> StorageReader {
    try opened.withLock { (opened: inout Open?) throws(StoreError) in
      let reader: StorageReader
      if let used = opened { reader = used.reader } else { reader = try storage.openReader() }
      opened = Open(reader: reader, reads: (opened?.reads ?? 0) + 1)
      return reader
    }
  }

  private func endReading() {
    opened.withLock { opened in
      opened?.reads -= 1
      Self.closeUnread(&opened)
    }
  }

  /// Reads from the store as it is now.
  ///
  /// - Throws: why it cannot be read.
  private func probe() throws(StoreError) {
    try opened.withLock { (opened: inout Open?) throws(StoreError) in
      guard let reader = opened?.reader else { return try storage.openReader().close() }
      // It may have been made anew since this reader was opened.
      try reader.read { (_) throws(StoreError) in }
    }
  }

  // MARK: Writing

  /// Leaves a write for the app.
  ///
  /// - Parameters:
  ///   - write: what to write, such as `.set("Attic")`.
  ///   - path: where.
  ///   - user: whose write it is, empty for nobody's; nil for the user who was signed in last, or nobody, as the app has
  ///     stored it. It waits until that user is signed in.
  /// - Throws: why the write is invalid; `invalidConfiguration`, when `user` is nil and the app has not stored who is
  ///   signed in, for storage in memory, for encrypted storage, as the write would lie beside it in the clear, and for a
  ///   database without a server; `tooLarge` above 1 MiB; `storageFull` and `storageFailure`, after which nothing was
  ///   left (but that a failing disk may keep it all the same); as ``getData(at:of:)``, when `user` is nil, or the store
  ///   does not say whether it is encrypted, as one that no app of this version has opened yet.
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
    if let fault = configuration.fault { throw fault }
    let place = Path(path)
    if let fault = WriteRules.fault(place) { throw fault }
    let local = try WriteRules.write(write, at: place)
    if case .update(_, let changes) = local, changes.isEmpty { return }
    let now = configuration.clock.wallTime
    var identity = user ?? ""
    if user == nil { identity = try storedUser() }
    try requirePlain()
    let mail = Mail(
      tree: configuration.namespace, identity: identity,
      payload: local.content(time: now).payload)
    do throws(StoreError) {
      try sender.send(mail, at: now)
    } catch {
      throw DatabaseError(error, "The write to \(place) was not left for the app")
    }
  }

  /// Refuses a store that is encrypted, or may be.
  ///
  /// - Throws: `invalidConfiguration`, and why it cannot be read.
  private func requirePlain() throws(DatabaseError) {
    if storage.options.encryption == nil {
      guard !storage.isToldPlain, !storage.isMissing else { return }
      do throws(StoreError) { return try probe() } catch {
        switch error.code {
        case .missing: return
        case .wrongKey: break
        default:
          throw DatabaseError(
            error,
            "It is not known yet whether the app's storage is encrypted, and a write that is left for it lies in the clear"
          )
        }
      }
    }
    throw DatabaseError(
      .invalidConfiguration,
      "The app's storage is encrypted, and a write that is left for it would lie beside it in the clear.",
      remedy: "Hand the write to the app in another way, or let the app make it.")
  }

  /// Who is signed in, as the app has stored it; empty for nobody.
  ///
  /// - Throws: `invalidConfiguration` when that is not known, and what reading does.
  private func storedUser() throws(DatabaseError) -> String {
    var last: String?
    do throws(DatabaseError) {
      last = try reading { (view, tree) throws(StoreError) in try SignedInUser.last(view, tree) }
    } catch {
      guard error.code == .storageMissing else { throw error }
    }
    if let last { return last }
    throw DatabaseError(
      .invalidConfiguration,
      "The app has not stored who is signed in, so it is not known whose write this is.",
      remedy: "Name the user with as:, or \"\" for nobody.")
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
