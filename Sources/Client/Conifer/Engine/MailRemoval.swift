import ConiferEngine
import ConiferKeyValue
import ConiferStorage

/// Removes writes that other processes have left and that the app gives up.
struct MailRemoval {
  let setup: DatabaseConfiguration
  let storage: EngineStorage
  let outbox: Outbox

  /// Removes the mails of a user for this database, also those that were set aside.
  ///
  /// - Parameter identity: the user, empty for nobody; nil for all, and for what has no sound address.
  /// - Throws: what keeps any from being removed; all others are.
  func discard(of identity: String?) throws(DatabaseError) {
    guard storage.backend != nil else { throw storage.error }
    do throws(StoreError) {
      try setup.sharedStorage.mailbox?.removeAll { setup.isMail($0, of: identity) }
    } catch {
      throw DatabaseError(error, "Not all writes of other processes were removed")
    }
  }

  /// What a purge stores, so that the mails that are there are gone with it also when the process dies before they are
  /// removed.
  ///
  /// - Throws: why it is not known which there are.
  func purgeEdits(_ lane: Lane) throws(StoreError) -> [StorageEdit] {
    guard setup.mailRefusal == nil, let mailbox = setup.sharedStorage.mailbox,
      let backend = storage.backend
    else { return [] }
    let names = try mailbox.files().filter { name in
      switch mailbox.holder(of: name) {
      case .of(let address): address == setup.mailAddress(lane.identity)
      // It may be this user's, which is found out later.
      case .unreadable: true
      case .nobody, .missing: false
      }
    }
    let known = try backend.read { (view) throws(StoreError) in
      try MailMark.marks(of: names, in: view, lane.tree)
    }
    return names.filter { known[$0] != .queued }
      .map { MailMark.edit(.givenUp(lane.identity), of: $0, in: lane.tree) }
  }

  /// Removes the mails of a user whose queue was purged.
  func purged(_ lane: Lane) {
    do throws(DatabaseError) {
      try discard(of: lane.identity)
      try forgetRemoved(lane.tree)
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
