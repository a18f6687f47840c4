public import ConiferEngine
import ConiferTree

extension Database {
  /// What a copy does where the other database has data already.
  public typealias ExistingData = ConiferEngine.ExistingData
  /// How far a copy is, in values, which are the leaves of the data.
  public typealias CopyProgress = ConiferEngine.CopyProgress

  /// Writes what is at a place of this database to the same place of another one, with priorities, such as the data of a
  /// database without a server to a server.
  ///
  /// These are ordinary updates of the other database, of at most 128 KiB and 1,000 values unless one value is larger,
  /// and at most four wait for their answers. It returns when the server has acknowledged all; then everything is there.
  /// What changes here meanwhile is not copied.
  ///
  /// By default what is there stays: only values are written at whose place, and above it, the server has none. The server, never
  /// the cache, is asked about each place before that is written; what was written to the other database before must be answered
  /// for that. What somebody else writes at the same place between the question and the write's arrival is replaced. So is a
  /// value at a place above that may not be read. To know whether a map is there, its first child is read, or about as many as
  /// this side has when those are values; the other database's cache keeps nothing of that.
  ///
  /// After an error or the end of the process it may be called again, and what has arrived may be sent once more:
  /// `replace` then overwrites what others have written since, and `keep` brings back what they have deleted.
  ///
  /// Here it reads as `getData` does: a client of a server that it does not reach copies what its cache has completely.
  /// While the other database has no connection, writes that are queued wait for one, and the copy waits with them until
  /// its task is cancelled.
  ///
  /// - Parameters:
  ///   - path: the place in both; the whole by default.
  ///   - target: the database that is written to.
  ///   - existing: what is done where it has data already.
  ///   - progress: called after each answer, on any thread.
  /// - Returns: what was copied, and what was not as `existing` says.
  /// - Throws: why this database could not be read, why the server could not be asked (`disconnected` without a
  ///   connection, `permissionDenied`), why it refused a write, which then waits among the refused ones;
  ///   `writeCanceled` when another user signs in there; `cancelled`. Writes that are queued go on, or wait for their
  ///   user.
  @discardableResult
  public func copy(
    _ path: String = "", to target: Database, existing: ExistingData = .keep,
    progress: (@Sendable (CopyProgress) -> Void)? = nil
  ) async throws(DatabaseError) -> CopyProgress {
    let place = reference().child(path)
    try WriteRules.check(place.path)
    let source = try await place.getData().node
    let copy = DataCopy(
      to: target.engine, existing, CopyProgress(total: source.leafCount), tell: progress)
    return try await target.engine.asOneUser { () throws(DatabaseError) in
      var copy = copy
      return try await copy.run(source, at: place.path)
    }
  }
}

extension DatabaseEngine {
  /// Does work of the user who is signed in, and cancels it when that is another one: what waits in the first one's queue
  /// may wait for ever.
  fileprivate func asOneUser<R: Sendable>(
    _ work: @escaping @Sendable () async throws(DatabaseError) -> R
  ) async throws(DatabaseError) -> R {
    // When the queue can be asked, it is known who is signed in.
    _ = try await writeTotals()
    let user = authState.current.identity
    let result = await withTaskGroup(of: Result<R, DatabaseError>?.self) { group in
      group.addTask {
        do throws(DatabaseError) { return .success(try await work()) } catch {
          return .failure(error)
        }
      }
      group.addTask { [authState] in
        for await state in authState.values where !state.identity.utf8.elementsEqual(user.utf8) {
          return .failure(Self.userChanged)
        }
        return nil
      }
      var result = Result<R, DatabaseError>.failure(Self.userChanged)
      for await answer in group {
        guard let answer else { continue }
        result = answer
        break
      }
      group.cancelAll()
      return result
    }
    return try result.get()
  }

  private static var userChanged: DatabaseError {
    DatabaseError(
      .writeCanceled,
      "The copy ended, as another user was signed in at the database that it writes to.",
      remedy:
        "Call it again as the user who is to write; what was queued waits for the user before.")
  }
}
