import ConiferEngine
import ConiferKeyValue
import ConiferStorage

/// Removes writes that other processes have left and that the app gives up.
struct MailRemoval {
  let setup: DatabaseConfiguration
  let storage: EngineStorage
  let outbox: Outbox

  /// What a purge gives up with the queue.
  struct Purge {
    let lane: Lane
    /// What its commit stores, so that the mails are gone with it also when the process dies before they are removed.
    let edits: [StorageEdit]
    /// The files that were there: what comes later stays.
    let files: [String]
  }

  /// Removes the mails of a user for this database, also those that were set aside. What is in the queue already is left
  /// to the taking, which removes it once the queue survives power loss.
  ///
  /// - Parameter identity: the user, empty for nobody; nil for all, and for what has no sound address.
  /// - Throws: what keeps any from being removed; all others are.
  func discard(of identity: String?) throws(DatabaseError) {
    guard let backend = storage.backend, let lane = storage.lane else { throw storage.error }
    guard let mailbox = setup.sharedStorage.mailbox else { return }
    do throws(StoreError) {
      var files = try mailbox.allFiles()
      if setup.mailRefusal == nil {
        let marks = try backend.read { (view) throws(StoreError) in
          try MailMark.marks(of: files, in: view, lane.tree)
        }
        files.removeAll { marks[$0] == .queued }
      }
      try mailbox.removeAll(files) { setup.isMail($0, of: identity) }
    } catch {
      throw DatabaseError(error, "Not all writes of other processes were removed")
    }
  }

  /// What a purge of a user's queue gives up too.
  ///
  /// - Throws: why it is not known which mails there are.
  func purge(_ lane: Lane) throws(StoreError) -> Purge {
    guard setup.mailRefusal == nil, let mailbox = setup.sharedStorage.mailbox,
      let backend = storage.backend
    else { return Purge(lane: lane, edits: [], files: []) }
    let files = try mailbox.allFiles().filter { name in
      switch mailbox.holder(of: name) {
      case .of(let address): address == setup.mailAddress(lane.identity)
      // It may be this user's, which is found out later.
      case .unreadable: true
      case .nobody, .missing: false
      }
    }
    let mails = files.filter(Mailbox.isMail)
    let known = try backend.read { (view) throws(StoreError) in
      try MailMark.marks(of: mails, in: view, lane.tree)
    }
    let edits = mails.filter { known[$0] != .queued }.map {
      MailMark.edit(.givenUp(lane.identity, known[$0]), of: $0, in: lane.tree)
    }
    return Purge(lane: lane, edits: edits, files: files)
  }

  /// Removes what was given up, once the purge is committed.
  func purged(_ purge: Purge) {
    do throws(DatabaseError) {
      do throws(StoreError) {
        try setup.sharedStorage.mailbox?.removeAll(purge.files) {
          setup.isMail($0, of: purge.lane.identity)
        }
      } catch {
        throw DatabaseError(error, "Not all writes of other processes were removed")
      }
      try forgetRemoved(purge.lane.tree)
    } catch {
      storage.report(error)
    }
  }

  private func forgetRemoved(_ tree: TreeID) throws(DatabaseError) {
    guard setup.mailRefusal == nil, let mailbox = setup.sharedStorage.mailbox,
      let backend = storage.backend
    else { return }
    do throws(StoreError) {
      for name in try MailMark.namesOfRemoved(mailbox, backend, tree) {
        outbox.addEdits([MailMark.edit(nil, of: name, in: tree)])
      }
    } catch {
      throw DatabaseError(error, "What other processes had left is not forgotten yet")
    }
  }
}
