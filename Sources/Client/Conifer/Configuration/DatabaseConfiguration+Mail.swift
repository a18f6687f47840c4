import ConiferStorage

extension DatabaseConfiguration {
  /// The storage that other processes know.
  var sharedStorage: StorageConfiguration {
    localAuthority == nil ? effectiveStorage : authorityStorage
  }

  /// Whether other processes may leave writes for the database: it has a queue on disk.
  var hasMailbox: Bool { localAuthority == nil && effectiveStorage.location != nil }

  /// Why nothing is taken into this database, whatever is there; nil for others.
  var mailRefusal: String? {
    if localAuthority != nil {
      return "A database without a server keeps its queue in memory, so that it cannot take writes "
        + "of other processes exactly once"
    }
    guard sharedStorage.options.encryption != nil else { return nil }
    return "The storage is encrypted, and takes no writes that lie beside it in the clear"
  }

  /// The address of a user's mails for this database.
  func mailAddress(_ identity: String) -> Mail.Address {
    Mail.Address(tree: namespace, identity: identity)
  }

  /// Whether mails are for this database.
  ///
  /// - Parameters:
  ///   - holder: whose they are.
  ///   - identity: the user who is meant, empty for nobody; nil for all, and for what has no sound address.
  func isMail(_ holder: Mailbox.Holder, of identity: String?) -> Bool {
    switch holder {
    case .of(let found): found == mailAddress(identity ?? found.identity)
    case .nobody: identity == nil
    case .unreadable, .missing: false
    }
  }
}
