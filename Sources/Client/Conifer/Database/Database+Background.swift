public import Foundation

// What an app does when the system moves it to the background.
extension Database {
  /// Disconnects, makes all accepted writes durable, and lets go of the store's locks, until ``resume()``.
  ///
  /// The store is closed for this process meanwhile: another one may open it. What is asked of the database while it is
  /// suspended, writes too, waits in memory in the order of the calls and is done by ``resume()``; ``close()`` ends it
  /// with `closed`. A second call does nothing. Calls of this and of ``resume()`` on one actor count in their order, also
  /// when their tasks are cancelled.
  ///
  /// A database without a server has its queue in memory: its writes are waited for as long as some are stored. What is
  /// left when none was for ten seconds is logged, and sent after ``resume()``.
  ///
  /// - Throws: what the store does: the database goes on as before then, or is suspended, and may then hold locks all the
  ///   same; call this again to let go of them, or `resume()` to go on.
  nonisolated(nonsending)
    public func suspend() async throws(DatabaseError)
  { try await engine.suspend() }

  /// Takes the store again, connects, and does what was asked for meanwhile. Does nothing when not suspended.
  ///
  /// What another process did with the store meanwhile shows: writes that it queued are sent, and those that it had
  /// answered have ended.
  ///
  /// - Throws: `storageBusy` while another process has the store open, or what the store does: the database stays
  ///   suspended and loses nothing, and this may be called again.
  nonisolated(nonsending)
    public func resume() async throws(DatabaseError)
  { try await engine.resume() }

  /// Waits until the server has answered all writes of the user that is signed in, or until a time.
  ///
  /// - Parameter deadline: when it returns at the latest, also while the token provider is asked; only while the storage
  ///   is being opened or is suspended does it wait longer. It returns earlier when the database is suspended or closed
  ///   after the call.
  /// - Returns: what is left; its `pending` is 0 when the queue is empty. Writes that wait in memory until
  ///   the token provider has said who made them count too, and are lost with the process.
  /// - Throws: what the store does; `cancelled`, when the waiting task is.
  public func drain(until deadline: Date) async throws(DatabaseError) -> PendingWriteTotals {
    try await engine.drain(until: deadline.timeIntervalSince1970)
  }
}
