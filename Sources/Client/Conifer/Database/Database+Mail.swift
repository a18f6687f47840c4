import ConiferEngine

/// What became of the writes that other processes left for a database.
public struct MailReport: Sendable, Hashable {
  /// How many were taken into the queue.
  public var taken = 0
  /// How many stay where they are: for a user who is not signed in, for another database in the same storage, of a later
  /// version, in files that cannot be read, or behind one of these in the order of their sender.
  public var waiting = 0
  /// How many of those are for users of this database who are not signed in. They wait until their user is, or until
  /// ``Database/discardMail(of:)`` removes them; they are never sent as somebody else's.
  public var waitingForOtherUsers = 0
  /// How many were set aside, because their bytes are damaged or no valid write; one report of all is among
  /// ``Database/incidents(needingCare:after:limit:)``.
  public var setAside = 0

  /// A report of nothing.
  public init() {}
}

extension Database {
  /// Takes the writes that other processes left with ``CompanionDatabase`` into the queue, each exactly once and in the
  /// order of its sender.
  ///
  /// The database does so by itself when it is opened, when it is resumed and when a user signs in; call this when
  /// another process says that it has left something, such as by a Darwin notification. It waits until it is known who
  /// is signed in.
  ///
  /// - Returns: what became of those that are there.
  /// - Throws: `storageFull` and what else the storage does: what was not taken stays where it is; `storageFailure` when
  ///   there are some that ``discardMail(of:)`` would remove, for a database without a server, or with encrypted storage,
  ///   which take none; `cancelled`, when the waiting task is: they are taken all the same.
  @discardableResult
  public func takeMail() async throws(DatabaseError) -> MailReport {
    try await engine.takeMail()
  }

  /// Removes writes that other processes left with ``CompanionDatabase`` and that were not taken, such as those for a user
  /// who will not sign in again; also those that were set aside.
  ///
  /// - Parameter user: for whom they were left, empty for nobody; nil for all users of this database, and for files in
  ///   their place of which nobody can tell for whom they are.
  /// - Throws: what the storage does, and `storageFailure` when some cannot be removed or read, with how many: all others
  ///   are removed; `cancelled`, when the waiting task is: they are removed all the same.
  public func discardMail(of user: String? = nil) async throws(DatabaseError) {
    try await engine.discardMail(of: user)
  }
}
