public import ConiferKeyValue

/// The move of what an app keeps from one storage into another of any backend, before a database opens it.
///
/// ```swift
/// let storage = StorageConfiguration.sqlite(at: directory)
/// try await StorageMigration(from: .lmdb(at: earlierDirectory), to: storage).run()
/// let database = Database(DatabaseConfiguration(namespace: "my-app", storage: storage))
/// ```
///
/// It is called at each start, and does nothing once all was moved. Everything comes over: cached data, what is known of
/// queries, pins, and the queue with its order, numbers and states. Until both hold the same, the earlier storage stays as
/// it is and the new one cannot be opened; then the earlier one is marked, so that it cannot be opened any more, and its
/// files are removed (files named `owner`, `plain`, `reserve`, `synced` and `unfinished` are its own too), and its directory if nothing
/// else is in it. A process that ends meanwhile has lost nothing, and the next call goes on where it was, also when the app's
/// directories got other paths in between. Cancelling the task of a call does not end it.
///
/// Writes that other processes left beside the earlier storage come along, before anybody can open the new one. What cannot
/// be moved then, and what comes to the earlier place later, is put beside the new one by the next call; on another volume it
/// stays. A new storage that is encrypted takes none.
///
/// What `openOrSalvage()` set aside of an earlier storage that was damaged, in `NAME.damaged` beside it, stays where it is;
/// an empty directory of that kind beside the new one keeps numbers of lost writes from being given again.
public struct StorageMigration: Sendable {
  /// How a call ended.
  public enum Outcome: Sendable, Hashable {
    /// There is no earlier storage: it was moved by a call before, or never there, or has no database in it.
    case nothingToMove
    /// All was moved.
    case moved
    /// All was moved, by this call or one before, and the new storage counts, but the earlier one cannot be removed, or
    /// its backend does not tell which files are its own. Nobody can open it as a storage, but what it holds can be read in
    /// its files; the next call tries again to remove it.
    ///
    /// - Parameter directory: where it is.
    case notRemoved(directory: String)
    /// Both directories have a storage, and neither was changed. If a call before has moved the earlier one, this is another
    /// that an earlier version of the app has made since.
    ///
    /// The app may go on with the new one. Writes that wait in the earlier one are sent by a database that opens it and is
    /// drained; then the app removes its directory.
    ///
    /// - Parameter waiting: how many writes wait in the earlier storage; nil when it cannot be opened.
    case earlierRemains(waiting: Int?)
  }

  /// How far a call has come.
  public struct Progress: Sendable, Hashable {
    /// What is being done.
    public enum Step: Sendable, Hashable {
      /// The earlier storage is checked for damage.
      case checking
      /// Data is copied; a queue is copied before that, without being counted.
      case copying
      /// Both are read and compared.
      case comparing
    }

    /// What is being done.
    public let step: Step
    /// About how many bytes are done in this call: of records as they are stored while they are checked, else of cached
    /// data before compression. It begins at 0 again with each step, and when a part is copied once more.
    public let done: Int
    /// About how many there are.
    public let total: Int
  }

  private let source: StorageConfiguration
  private let target: StorageConfiguration

  /// A move.
  ///
  /// - Parameters:
  ///   - source: the earlier storage, as the app opened it.
  ///   - target: the new one, in another directory, not within the earlier one's nor around it.
  public init(from source: StorageConfiguration, to target: StorageConfiguration) {
    (self.source, self.target) = (source, target)
  }

  /// Moves what is left to be moved.
  ///
  /// - Parameter progress: called now and then, on any thread.
  /// - Throws: `invalid` for a storage without files, and for directories within one another; `foreign` when the new
  ///   directory has an unfinished copy whose source is gone or was moved elsewhere, or a storage that was to be moved
  ///   elsewhere and may not have got there; `busy` while one of the storages is open; `damaged` for an
  ///   earlier storage that is not sound: go on with it, or salvage it; `wrongKey` for one with records whose key is not
  ///   given or was erased; `newerFormat` for one with records of a later version; `full`, and then nothing of the copy stays; what the storages do. The earlier storage is as it
  ///   was then, unless all was copied already and it cannot be opened any more: the next call ends that.
  public func run(
    _ progress: (@Sendable (Progress) -> Void)? = nil
  ) async throws(StoreError) -> Outcome {
    let places = try MigrationPlaces(source, target)
    var outcome: Outcome
    do throws(StoreError) {
      outcome = try await move(places, progress)
    } catch {
      guard [.busy, .foreign].contains(error.code) else { throw error }
      // So it looks for a moment while another process ends the move.
      outcome = try await move(places, progress)
    }
    let isOver =
      switch outcome {
      case .moved, .nothingToMove: true
      case .notRemoved: (try? MovedStore.isOver(places.from)) == true
      case .earlierRemains: false
      }
    if isOver, let mailbox = target.mailbox {
      // What came to the earlier place since is in no store. What fails is tried again by the next call.
      try? source.mailbox?.move(to: mailbox, copies: false)
    }
    return outcome
  }

  private func move(
    _ places: MigrationPlaces, _ progress: (@Sendable (Progress) -> Void)?
  ) async throws(StoreError) -> Outcome {
    try places.endMoveBefore()
    var isMoved = true
    switch try places.state() {
    case .nothing: isMoved = false
    case .settled:
      isMoved = false
      try places.settle()
    case .copying:
      switch try await copy(places, progress) {
      case .empty: return .nothingToMove
      case .beaten: return try await move(places, progress)
      case .marked: try places.finish()
      }
    case .copied: try places.finish()
    }
    let left = try places.removeMoved()
    if try places.hasEarlier(), let earlier = await remaining() { return earlier }
    if let left { return .notRemoved(directory: left) }
    return isMoved ? .moved : .nothingToMove
  }

  /// How the copying ended.
  private enum Ending {
    /// Both hold the same, and the earlier storage is marked as moved.
    case marked
    /// The earlier storage has no database.
    case empty
    /// Another process has moved it just before.
    case beaten
  }

  /// Copies all of the earlier storage, and marks it as moved when both hold the same.
  private func copy(
    _ places: MigrationPlaces, _ progress: (@Sendable (Progress) -> Void)?
  ) async throws(StoreError) -> Ending {
    let wasMoved = try MovedStore.id(of: places.from) != nil
    let old: any StorageBackend
    do throws(StoreError) {
      // One that was moved is copied again while nobody can have opened what it was moved into.
      old =
        try wasMoved
        ? UnfinishedStore.making { () throws(StoreError) in try earlier() } : earlier()
    } catch {
      guard !wasMoved, try MovedStore.id(of: places.from) != nil else { throw error }
      return .beaten
    }
    let ending: Ending
    do {
      ending = try await copy(old, places, progress)
    } catch {
      let error = Self.storeError(error)
      // Half a copy must not keep the app from going on with the earlier storage.
      if error.code == .full { places.abandon() }
      try? await old.close()
      throw error
    }
    try await old.close()
    return ending
  }

  private func copy(
    _ old: any StorageBackend, _ places: MigrationPlaces,
    _ progress: (@Sendable (Progress) -> Void)?
  ) async throws -> Ending {
    // While it is open here, nobody else moves it.
    guard case .copying(let found) = try places.state() else {
      // Opening it has made it anew if another process had just removed it.
      if try MovedStore.id(of: places.from) == nil, try old.inspect({ try Self.isEmpty($0) }) {
        try MovedStore.mark(
          places.from, id: UInt64.random(in: 1 ... .max), movedTo: places.to, isOver: true)
      }
      return .beaten
    }
    // Nothing would come over, and opening it may have made it.
    if found == nil, try old.inspect({ try Self.isEmpty($0) }) { return .empty }
    try await removeTakenMails(old)
    try check(old, progress)
    let reports = try old.inspect { try $0.incidentPosition() }
    // No `??`: its second operand throws no typed error.
    var mark = if let found { found } else { try places.begin() }
    try await fill(&mark, old, places, isNew: found == nil, progress)
    guard try old.inspect({ try $0.incidentPosition() }) == reports else {
      throw StoreError(
        .damaged,
        "Damage was found in \(places.from) while it was moved, so it stays: go on with it, or salvage it."
      )
    }
    try StoreExchange.count(salvagesOf: places.from, at: places.to)
    // Somebody else may have made the new directory just before.
    try Platform.syncDirectory(Platform.parent(of: places.to))
    // It is still open, so that nobody has written to it since it was compared.
    try MovedStore.mark(places.from, id: mark.id, movedTo: places.to, isOver: false)
    return .marked
  }

  /// Removes what other processes left and the queue has, or the app gave up, so that no store knows of what is left.
  private func removeTakenMails(_ old: any StorageBackend) async throws(StoreError) {
    guard let mailbox = source.mailbox else { return }
    let names = try mailbox.files()
    guard !names.isEmpty else { return }
    for tree in try old.read({ (view) throws(StoreError) in try view.trees() }) {
      let marks = try old.read { (view) throws(StoreError) in
        try MailMark.marks(of: names, in: view, tree.id)
      }
      var taken: [String] = []
      for (name, mark) in marks {
        if try isTaken(name, mark, mailbox, tree) { taken.append(name) }
      }
      guard !taken.isEmpty else { continue }
      // A sync covers this together with the commit of a process that died.
      let edits = taken.map { MailMark.editAgain(of: $0, in: tree.id) }
      try await old.harden(try await old.commit(edits).commit)
      try mailbox.remove(taken)
    }
  }

  private func isTaken(
    _ name: String, _ mark: MailMark, _ mailbox: Mailbox, _ tree: TreeInfo
  ) throws(StoreError) -> Bool {
    switch mark {
    case .queued: return true
    case .givenUp(let users):
      switch mailbox.holder(of: name) {
      case .of(let address):
        return users.contains { Mail.Address(tree: tree.name, identity: $0) == address }
      case .nobody, .missing: return false
      case .unreadable:
        throw StoreError(
          .denied,
          "\(mailbox.directory)/\(name) may be a write that was given up, and cannot be read: let the app read it, "
            + "then start the move again.")
      }
    }
  }

  /// Whether a storage has neither a database nor what keeps lost numbers of writes from being given again.
  private static func isEmpty(_ view: any StorageView) throws(StoreError) -> Bool {
    let reports = try view.incidents(after: IncidentPosition(), limit: 1) { _ in true }
    let (trees, floor) = (try view.trees(), try view.queueFloor())
    return trees.isEmpty && floor == nil && reports.incidents.isEmpty
  }

  /// The earlier storage; nothing of it is evicted or dropped.
  private func earlier() throws(StoreError) -> any StorageBackend {
    var options = source.options
    (options.role, options.budget) = (.authority, nil)
    return try source.with(options).open()
  }

  /// What there is of an earlier storage beside the new one that counts; nil when no database is in it.
  private func remaining() async -> Outcome? {
    guard let old = try? earlier() else { return .earlierRemains(waiting: nil) }
    let waiting = try? old.inspect { view in
      try view.trees().map { tree in
        try view.lanes(tree.id).reduce(0) { try $0 + view.totals($1).pending }
      }
    }
    try? await old.close()
    if waiting?.isEmpty == true { return nil }
    return .earlierRemains(waiting: waiting?.reduce(0, +))
  }

  /// Refuses a storage that is not sound: reading it may set aside what is damaged.
  private func check(
    _ old: any StorageBackend, _ progress: (@Sendable (Progress) -> Void)?
  ) throws(StoreError) {
    guard let old = old as? any VerifyingBackend else { return }
    let report = try old.verify {
      progress?(Progress(step: .checking, done: $0.bytes, total: $0.expected))
    }
    guard report.isSound else {
      let finding = report.findings.first.map { " (\($0))" } ?? ""
      throw StoreError(
        .damaged,
        "The earlier storage is not sound\(finding), and was not moved: go on with it, or salvage it."
      )
    }
    if let locked = report.locked.first {
      throw StoreError(
        .wrongKey,
        "The earlier storage was not moved, as a part of it cannot be read (\(locked)): give its key, or "
          + "wipe what was erased.")
    }
    guard report.counts.unknown == 0 else {
      throw StoreError(
        .newerFormat,
        "The earlier storage was not moved, as a later version of Conifer has written to it, and its "
          + "records would be lost: update Conifer, or go on with the earlier storage.")
    }
  }

  /// Fills the new storage.
  ///
  /// - Parameter isNew: whether nothing is in it yet.
  private func fill(
    _ mark: inout MigrationMark, _ old: any StorageBackend, _ places: MigrationPlaces, isNew: Bool,
    _ progress: (@Sendable (Progress) -> Void)?
  ) async throws {
    do {
      try await pour(&mark, old, places, progress)
    } catch  where !isNew && Self.isOfCopy(error) {
      // What an earlier run has left is of another key or kind, or differs in what no commit takes back.
      try places.restart(&mark)
      try await pour(&mark, old, places, progress)
    }
  }

  private static func isOfCopy(_ error: any Error) -> Bool {
    guard let error = error as? StoreError else { return error is FaithfulCopy.Difference }
    return [.damaged, .foreign, .wrongKey, .newerFormat].contains(error.code)
  }

  private func pour(
    _ mark: inout MigrationMark, _ old: any StorageBackend, _ places: MigrationPlaces,
    _ progress: (@Sendable (Progress) -> Void)?
  ) async throws {
    var options = target.options
    options.budget = nil
    let new = try UnfinishedStore.making { () throws(StoreError) in
      try target.with(options).open()
    }
    do {
      var current = mark
      let copy = FaithfulCopy(source: old, target: new) { place in
        current.place = place
        try current.write(to: places.to, from: places.from)
      } advanced: { step, done, total in
        progress?(
          Progress(step: step == .copying ? .copying : .comparing, done: done, total: total))
      }
      _ = try await copy.run(from: mark.place)
      mark = current
    } catch {
      try? await new.close()
      throw error
    }
    try await new.close()
  }

  private static func storeError(_ error: any Error) -> StoreError {
    switch error {
    case let error as StoreError: error
    case let error as FaithfulCopy.Difference:
      StoreError(
        .io,
        "The copy is not what the earlier storage is (\(error.place)). That is as it was; please report this."
      )
    default:
      StoreError(.io, "The storage could not be moved: \(error). The earlier one is as it was.")
    }
  }
}
