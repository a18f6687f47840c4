import ConiferTree

extension Database {
  /// What a copy does where the other database has data already.
  public enum ExistingData: Hashable, Sendable {
    /// It stays: only values are written at whose place, and above it, the server has none.
    ///
    /// The server is asked before anything is written, and never the cache. What somebody else writes at the same place
    /// between the question and the write's arrival is replaced.
    case keep
    /// Values replace it where they stand; what it has beside them stays.
    case replace
  }

  /// How far a copy is, in values, which are the leaves of the data.
  public struct CopyProgress: Hashable, Sendable {
    /// How many there are to copy.
    public internal(set) var total: Int
    /// How many the other database's server has acknowledged.
    public internal(set) var copied = 0
    /// How many were left out, as the server had data there.
    public internal(set) var kept = 0
  }

  /// Writes what is at a place of this database to the same place of another one, with priorities, such as the data of a
  /// database without a server to a server.
  ///
  /// These are ordinary updates of the other database, of at most 128 KiB and 1,000 values unless one value is larger,
  /// and at most four wait for their answers. It returns when the server has acknowledged all; then everything is there.
  /// After an error or the end of the process it may be called again: values are only set, so that what is there
  /// already does no harm. What changes here meanwhile is not copied.
  ///
  /// - Parameters:
  ///   - path: the place in both; the whole by default.
  ///   - target: the database that is written to.
  ///   - existing: what is done where it has data already.
  ///   - progress: called after each answer, on any thread.
  /// - Returns: what was copied, and what was not as `existing` says.
  /// - Throws: why this database could not be read, why the server could not be asked (`disconnected` without a
  ///   connection, `permissionDenied`), why it refused a write, which then waits among the refused ones; `cancelled`.
  ///   Writes that are queued go on.
  @discardableResult
  public func copy(
    _ path: String = "", to target: Database, existing: ExistingData = .keep,
    progress: (@Sendable (CopyProgress) -> Void)? = nil
  ) async throws(DatabaseError) -> CopyProgress {
    let place = reference().child(path)
    try WriteRules.check(place.path)
    let source = try await place.getData().node
    var copy = DataCopy(
      to: target.engine, existing, CopyProgress(total: source.leafCount), tell: progress)
    return try await copy.run(source, at: place.path)
  }
}
