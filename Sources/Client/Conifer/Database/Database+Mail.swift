import ConiferEngine

/// What became of the writes that other processes left for a database.
public struct MailReport: Sendable, Hashable {
  /// How many were taken into the queue.
  public var taken = 0
  /// How many stay where they are: for a user who is not signed in, for another database in the same storage, or of a
  /// later version.
  public var waiting = 0
  /// How many were set aside, because their bytes are damaged or the queue refuses them; each is among
  /// ``Database/incidents(needingCare:)``.
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
  /// - Throws: `storageFull` and what else the storage does: what was not taken stays where it is; `storageFailure` for a
  ///   database without a server; `cancelled`, when the waiting task is: they are taken all the same.
  @discardableResult
  public func takeMail() async throws(DatabaseError) -> MailReport {
    try await engine.takeMail()
  }
}
