import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferSync
import ConiferTree

/// Takes the writes that other processes put into the store's mailbox into the queue, each exactly once.
///
/// The commit that queues a write also stores the name of its mail, so that a mail that is still there after a
/// crash is known to be taken. A mail is removed when that commit survives power loss, and its name after that.
final class MailTaker {
  /// How many mails, and how many bytes of them, share a commit.
  private static let group = (mails: 256, bytes: 8 << 20)
  /// What the names of the metadata begin with that say which mails are in the queue.
  private static let prefix = "conifer.mail."

  private let setup: DatabaseConfiguration
  private let storage: EngineStorage
  private let writes: Writes
  private let outbox: Outbox

  /// Mails whose commit is not known to be made or not.
  private var underWay: Set<String> = []
  /// Mails whose writes are in the store.
  private var stored: [String] = []
  /// What the taking that is under way has done.
  private var report = MailReport()
  private var failure: StoreError?

  init(
    _ setup: DatabaseConfiguration, _ storage: EngineStorage, _ writes: Writes, _ outbox: Outbox
  ) {
    self.setup = setup
    self.storage = storage
    self.writes = writes
    self.outbox = outbox
  }

  /// Takes what is there for the user who is signed in.
  ///
  /// - Parameter drain: has what waits committed.
  /// - Throws: why not all was taken that could be; what was not stays where it is.
  nonisolated(nonsending) func take(
    _ drain: () -> Void
  ) async throws(DatabaseError) -> MailReport {
    guard let backend = storage.backend, let lane = storage.lane else { throw storage.error }
    (report, failure, stored) = (MailReport(), nil, [])
    do throws(StoreError) {
      guard let mailbox = try mailbox() else { return report }
      mailbox.removeAbandonedDrafts(at: setup.clock.wallTime)
      try forgetRemoved(mailbox, backend, lane.tree)
      var waiting = (mails: 0, bytes: 0)
      for name in try mailbox.orderedFiles() where !underWay.contains(name) {
        waiting.bytes += try add(name, mailbox, backend, lane)
        waiting.mails += 1
        guard waiting.mails >= Self.group.mails || waiting.bytes >= Self.group.bytes else {
          continue
        }
        drain()
        waiting = (0, 0)
        if let failure { throw failure }
      }
      drain()
      try await remove(stored, mailbox, backend, lane.tree)
      drain()
      if let failure { throw failure }
    } catch {
      drain()
      throw DatabaseError(error, "Not all writes of other processes were taken")
    }
    report.waiting += underWay.count
    return report
  }

  /// The store's mailbox; nil where nobody put anything there.
  private func mailbox() throws(StoreError) -> Mailbox? {
    guard setup.localAuthority == nil else {
      guard let mailbox = setup.authorityStorage.mailbox, try !mailbox.files().isEmpty else {
        return nil
      }
      throw StoreError(
        .unsupported,
        "A database without a server keeps its queue in memory, so that it cannot take writes of other "
          + "processes exactly once: what is in \(mailbox.directory) stays there.")
    }
    return setup.effectiveStorage.mailbox
  }

  /// Has a mail queued, or done with as what it is.
  ///
  /// - Returns: how many bytes it has the next commit take.
  private func add(
    _ name: String, _ mailbox: Mailbox, _ backend: any StorageBackend, _ lane: Lane
  ) throws(StoreError) -> Int {
    switch try mailbox.read(name) {
    case nil: return 0
    case .newer:
      report.waiting += 1
      return 0
    case .damaged:
      try setAside(name, "its bytes are not what was written", mailbox, backend, lane)
      return 0
    case .mail(let mail):
      guard Lane(tree: lane.tree, identity: mail.identity) == lane,
        mail.tree.utf8.elementsEqual(setup.namespace.utf8),
        let content = WriteContent(mail.payload)
      else {
        report.waiting += 1
        return 0
      }
      let key = Self.prefix + name
      let isKnown = try backend.read { (view) throws(StoreError) in
        try view.metadata(lane.tree, key) != nil
      }
      guard !isKnown else {
        // It was queued by a process that died before it removed the mail. A commit of this one is needed, which
        // a sync covers together with that one.
        outbox.addEdits([.setMetadata(lane.tree, key, [1])]) { [self] result in
          switch result {
          case .success: stored.append(name)
          case .failure(let error): failure = error
          }
        }
        return 0
      }
      underWay.insert(name)
      outbox.addEdits([.enqueue(lane, mail.payload), .setMetadata(lane.tree, key, [])]) {
        [self] result in
        underWay.remove(name)
        switch result {
        case .success(let numbers):
          guard let id = numbers.writes.first else { return }
          stored.append(name)
          report.taken += 1
          let caller = WriteCaller(receipt: WriteReceipt())
          writes.queued(QueuedWrite(id: id, content: content), caller, lane, numbers.commit)
        case .failure(let error) where error.code == .invalid || error.code == .tooLarge:
          do throws(StoreError) {
            try setAside(name, "the queue refuses it (\(error.message))", mailbox, backend, lane)
          } catch { failure = error }
        case .failure(let error): failure = error
        }
      }
      return mail.payload.bytes.count
    }
  }

  /// Gives a mail that cannot be taken another name, behind a report of it.
  private func setAside(
    _ name: String, _ why: String, _ mailbox: Mailbox, _ backend: any StorageBackend, _ lane: Lane
  ) throws(StoreError) {
    let place = "the mail \(mailbox.directory)/\(name), which stays there as .damaged: \(why)"
    let isKnown = try backend.read { (view) throws(StoreError) in
      try view.incidents().contains { $0.place == place }
    }
    let incident = Incident(kind: .writeSetAside, tree: lane.tree, place: place, bytes: [])
    outbox.addEdits(isKnown ? [] : [.report(incident)]) { [self] result in
      do throws(StoreError) {
        _ = try result.get()
        try mailbox.setAside(name)
        report.setAside += 1
        storage.reportIncidents()
      } catch { failure = error }
    }
  }

  /// Removes mails whose writes are stored, once these survive power loss.
  private nonisolated(nonsending) func remove(
    _ names: [String], _ mailbox: Mailbox, _ backend: any StorageBackend, _ tree: TreeID
  ) async throws(StoreError) {
    guard !names.isEmpty, let last = outbox.last else { return }
    try await backend.harden(last)
    try mailbox.remove(names)
    forget(names, tree)
  }

  /// Forgets the names of mails that are not there any more, as a process left them that died in between.
  private func forgetRemoved(
    _ mailbox: Mailbox, _ backend: any StorageBackend, _ tree: TreeID
  ) throws(StoreError) {
    let known = try backend.read { (view) throws(StoreError) -> [String] in
      var names: [String] = []
      while true {
        let window = try view.metadataNames(tree, after: names.last ?? Self.prefix, limit: 100)
        let own = window.prefix { $0.hasPrefix(Self.prefix) }
        names += own
        if own.count < 100 { return names }
      }
    }
    guard !known.isEmpty else { return }
    let there = Set(try mailbox.files())
    let gone = known.map { String($0.dropFirst(Self.prefix.count)) }.filter { !there.contains($0) }
    guard !gone.isEmpty else { return }
    try mailbox.sync()
    forget(gone, tree)
  }

  private func forget(_ names: [String], _ tree: TreeID) {
    // What fails is tried again by the next taking.
    for name in names { outbox.addEdits([.setMetadata(tree, Self.prefix + name, nil)]) }
  }
}
