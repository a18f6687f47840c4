import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferSync
import ConiferTree
import Logging

/// Takes the writes that other processes put into the store's mailbox into the queue, each exactly once, and those of a
/// sender in their order.
///
/// The commit that queues a write also stores a `MailMark` of its mail, so that a mail that is still there after a
/// crash is known to be taken. A mail is removed when that commit survives power loss, and its mark after that.
/// When a mail is not taken, no later one of its sender is.
final class MailTaker {
  /// How many mails, and about how many bytes of them, a step takes.
  private static let most = (mails: 256, bytes: Mail.largest)
  /// The name of metadata that is changed only to have a commit.
  private static let reportedName = "conifer.reported"

  /// A mail that is to be queued.
  private struct NewMail {
    let name: String
    let sender: UInt64
    let payload: WritePayload
    let content: WriteContent
  }

  /// The mails that a step has looked at.
  private struct Part {
    var new: [NewMail] = []
    /// Those that are not to be queued any more, and that a process left that died before it removed them.
    var known: [String] = []
    /// Those that are not meant by what was given up.
    var unmarked: [String] = []
  }

  private let setup: DatabaseConfiguration
  private let storage: EngineStorage
  private let writes: Writes
  private let outbox: Outbox
  private let post: @Sendable (Step) -> Void

  /// Mails whose commit is not known to be made or not.
  private var underWay: Set<String> = []
  /// Mails whose writes are in the store.
  private var stored: [String] = []
  /// The taking that is under way.
  private var taking = MailTaking()

  init(
    _ setup: DatabaseConfiguration, _ storage: EngineStorage, _ writes: Writes, _ outbox: Outbox,
    _ post: @escaping @Sendable (Step) -> Void
  ) {
    self.setup = setup
    self.storage = storage
    self.writes = writes
    self.outbox = outbox
    self.post = post
  }

  /// Takes as much as one step may, and asks for another step when there is more. What is not taken stays where it is.
  ///
  /// - Parameter drain: has what waits committed.
  nonisolated(nonsending) func take(_ begun: MailTaking, _ drain: () -> Void) async {
    taking = begun
    stored = []
    do throws(StoreError) {
      try await takePart(drain)
    } catch {
      drain()
      taking.stop(failure(error))
    }
    if !taking.isAtEnd { return post(.takeMail(taking)) }
    let result: Result<MailReport, DatabaseError> =
      taking.failure.map { .failure($0) } ?? .success(taking.report)
    if let done = taking.done { return done(result) }
    tell(result)
  }

  /// Tells the log how a taking ended that nobody waits for.
  private func tell(_ result: Result<MailReport, DatabaseError>) {
    switch result {
    case .failure(let error): storage.report(error)
    case .success(let report):
      guard report.waiting > 0 else { return }
      setup.logger.notice(
        "writes of other processes wait",
        metadata: ["writes": "\(report.waiting)", "ofOtherUsers": "\(report.waitingForOtherUsers)"])
    }
  }

  private nonisolated(nonsending) func takePart(_ drain: () -> Void) async throws(StoreError) {
    guard let backend = storage.backend, let lane = storage.lane else {
      return taking.stop(storage.error)
    }
    guard let mailbox = setup.sharedStorage.mailbox else { return }
    if let reason = setup.mailRefusal {
      let isThere = try mailbox.files().contains { setup.isMail(mailbox.holder(of: $0), of: nil) }
      guard !isThere else {
        throw StoreError(
          .unsupported,
          "\(reason): what is in \(mailbox.directory) stays there until discardMail() removes it."
        )
      }
      return
    }
    if taking.lane != lane {
      mailbox.removeAbandonedDrafts(at: setup.clock.wallTime)
      forget(try MailMark.namesOfRemoved(mailbox, backend, lane.tree), lane.tree)
      taking.begin(lane, try mailbox.orderedFiles())
    }
    let part = try look(mailbox, backend, lane)
    forget(part.unmarked, lane.tree)
    storeAgain(part.known, lane.tree, drain)
    queue(part.new, lane, drain)
    // A mail that stays although it should not keeps no other from being taken.
    do throws(StoreError) {
      try await remove(mailbox, backend, lane.tree)
    } catch { taking.note(failure(error)) }
    drain()
    guard taking.areAllSeen else { return }
    do throws(StoreError) {
      try await setAside(mailbox, backend, lane, drain)
    } catch { taking.note(failure(error)) }
    drain()
  }

  private func failure(_ error: StoreError) -> DatabaseError {
    DatabaseError(error, "Not all writes of other processes were taken")
  }

  // MARK: Looking

  /// Looks at the next mails of the taking, as many as a step takes.
  private func look(
    _ mailbox: Mailbox, _ backend: any StorageBackend, _ lane: Lane
  ) throws(StoreError) -> Part {
    var part = Part()
    let next = taking.names.prefix(Self.most.mails)
    let marks = try backend.read { (view) throws(StoreError) in
      try MailMark.marks(of: next, in: view, lane.tree)
    }
    var bytes = 0
    for name in next where bytes < Self.most.bytes {
      taking.passed()
      guard let sender = Mailbox.sender(of: name) else { continue }
      switch marks[name] {
      case .queued?: part.known.append(name)
      case .givenUp(let users)?:
        switch mailbox.holder(of: name) {
        case .of(let address) where users.contains { address == setup.mailAddress($0) }:
          part.known.append(name)
        case .unreadable: taking.hold(sender)
        case .missing: break
        case .of, .nobody:
          part.unmarked.append(name)
          bytes += look(at: name, sender, mailbox, lane, &part)
        }
      case nil: bytes += look(at: name, sender, mailbox, lane, &part)
      }
    }
    return part
  }

  /// Looks at a mail that may be a new one; gives the bytes that were read for it.
  private func look(
    at name: String, _ sender: UInt64, _ mailbox: Mailbox, _ lane: Lane, _ part: inout Part
  ) -> Int {
    guard !taking.held.contains(sender), !underWay.contains(name) else {
      taking.hold(sender)
      return 0
    }
    switch mailbox.read(name, where: { $0 == setup.mailAddress(lane.identity) }) {
    case nil: return 0
    case .elsewhere(let found):
      taking.report.waiting += 1
      if found == setup.mailAddress(found.identity) { taking.report.waitingForOtherUsers += 1 }
      return 0
    case .newer(let bytes):
      taking.hold(sender)
      return bytes
    case .unreadable:
      taking.hold(sender)
      return 0
    case .damaged(let bytes):
      taking.refuse(name, "its bytes are not what was written")
      return bytes
    case .mail(let mail):
      if mail.payload.kind != .tree {
        // A later version may read it.
        taking.hold(sender)
      } else {
        do throws(DatabaseError) {
          let content = try WriteRules.content(of: mail.payload)
          part.new.append(
            NewMail(name: name, sender: sender, payload: mail.payload, content: content))
        } catch {
          taking.refuse(name, error.message)
        }
      }
      return mail.payload.bytes.count
    }
  }

  // MARK: Queueing

  /// Stores once more that mails are not to be queued: a sync covers that together with the commit of a process that
  /// died.
  private func storeAgain(_ names: [String], _ tree: TreeID, _ drain: () -> Void) {
    guard !names.isEmpty else { return }
    outbox.addEdits(names.map { MailMark.editAgain(of: $0, in: tree) }) { [self] result in
      switch result {
      case .success: stored += names
      case .failure(let error): taking.note(failure(error))
      }
    }
    drain()
  }

  /// Has the new mails queued: together, or each alone when that fails.
  private func queue(_ new: [NewMail], _ lane: Lane, _ drain: () -> Void) {
    guard !new.isEmpty else { return }
    var failed = commit(new, lane, drain)
    guard failed != nil else { return }
    for mail in new {
      guard !taking.isStopped, !taking.held.contains(mail.sender) else {
        taking.hold(mail.sender)
        continue
      }
      if new.count > 1 { failed = commit([mail], lane, drain) }
      guard let error = failed else { continue }
      if error.code == .invalid || error.code == .tooLarge {
        taking.refuse(mail.name, "the queue refuses it (\(error.message))")
      } else {
        // Another sender's may need less room.
        if error.code == .full {
          taking.note(failure(error))
        } else {
          taking.stop(failure(error))
        }
        taking.hold(mail.sender)
      }
    }
  }

  /// Commits mails, all or none.
  ///
  /// - Returns: why none of them is stored; nil when they are, or when that is not known.
  private func commit(_ mails: [NewMail], _ lane: Lane, _ drain: () -> Void) -> StoreError? {
    var outcome: Outbox.Stored?
    let names = mails.map(\.name)
    underWay.formUnion(names)
    let edits = mails.flatMap { mail -> [StorageEdit] in
      [.enqueue(lane, mail.payload), MailMark.edit(.queued, of: mail.name, in: lane.tree)]
    }
    outbox.addEdits(edits) { [self] result in
      outcome = result
      underWay.subtract(names)
      guard case .success(let numbers) = result else { return }
      stored += names
      taking.report.taken += names.count
      for (id, mail) in zip(numbers.writes, mails) {
        let caller = WriteCaller(receipt: WriteReceipt())
        writes.queued(QueuedWrite(id: id, content: mail.content), caller, lane, numbers.commit)
      }
    }
    drain()
    switch outcome {
    case .success: return nil
    case .failure(let error): return error
    case nil:
      for mail in mails { taking.hold(mail.sender) }
      return nil
    }
  }

  // MARK: Setting aside

  /// Gives mails that cannot be taken other names, as many as a step may, once a report of all survives power loss.
  ///
  /// There is one report of a taking: whoever may write in the mailbox can leave any number of files, and reports of
  /// writes are kept for good.
  private nonisolated(nonsending) func setAside(
    _ mailbox: Mailbox, _ backend: any StorageBackend, _ lane: Lane, _ drain: () -> Void
  ) async throws(StoreError) {
    guard let first = taking.refused.first else { return }
    if !taking.isReported {
      do throws(StoreError) {
        let isMade = try report(
          first, of: taking.refused.count, mailbox, backend, lane.tree, drain)
        guard isMade, let last = outbox.last else { return taking.setAsideLater() }
        try await backend.harden(last)
      } catch {
        taking.setAsideLater()
        throw error
      }
      taking.reported()
    }
    let (count, error) = mailbox.setAside(taking.takeRefused(Self.most.mails))
    taking.report.setAside += count
    storage.reportIncidents()
    if let error { throw error }
  }

  /// Commits the report of mails that cannot be taken; also something else where a process that died has made the same
  /// one, so that a sync covers it.
  ///
  /// - Returns: whether it is stored; otherwise that is not known.
  private func report(
    _ first: MailTaking.Refused, of count: Int, _ mailbox: Mailbox, _ backend: any StorageBackend,
    _ tree: TreeID, _ drain: () -> Void
  ) throws(StoreError) -> Bool {
    let others = count > 1 ? "and \(count - 1) more there, which stay" : "which stays there"
    let place = "the mail \(mailbox.directory)/\(first.name), \(others) as .damaged: \(first.why)"
    let (reports, mark) = try backend.read { (view) throws(StoreError) in
      let same = try view.incidents(after: IncidentPosition(), limit: 1) {
        $0.tree == tree && $0.place == place
      }
      return (same.incidents, try view.metadata(tree, Self.reportedName))
    }
    let isThere = !reports.isEmpty
    var outcome: Outbox.Stored?
    outbox.addEdits([
      isThere
        ? .setMetadata(tree, Self.reportedName, mark == nil ? [1] : nil)
        : .report(Incident(kind: .writeSetAside, tree: tree, place: place, bytes: []))
    ]) { outcome = $0 }
    drain()
    _ = try outcome?.get()
    return outcome != nil
  }

  // MARK: Removing

  /// Removes mails whose writes are stored, once these survive power loss.
  private nonisolated(nonsending) func remove(
    _ mailbox: Mailbox, _ backend: any StorageBackend, _ tree: TreeID
  ) async throws(StoreError) {
    guard !stored.isEmpty, let last = outbox.last else { return }
    try await backend.harden(last)
    try mailbox.remove(stored)
    forget(stored, tree)
  }

  private func forget(_ names: [String], _ tree: TreeID) {
    // What fails is tried again by the next taking.
    for name in names { outbox.addEdits([MailMark.edit(nil, of: name, in: tree)]) }
  }
}
