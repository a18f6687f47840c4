// Network use and termination. Blocks run on the callback queue.
extension Firestore {
  /// Lets the network be used again.
  ///
  /// - Parameter completion: called once that is so.
  public func enableNetwork(completion: (((any Error)?) -> Void)? = nil) {
    perform(completion.map { UserCode($0) }) { $0.setNetwork(true, $1) }
  }

  /// Lets the network be used again; returns once that is so.
  ///
  /// - Throws: `failedPrecondition` after ``terminate()``; `cancelled`.
  nonisolated(nonsending)
    public func enableNetwork() async throws(FirestoreError)
  { try await waitUntil { $0.setNetwork(true, $1) } }

  /// Stays offline until ``enableNetwork(completion:)``: listeners and gets are answered from the cache,
  /// writes wait.
  ///
  /// - Parameter completion: called once that is so.
  public func disableNetwork(completion: (((any Error)?) -> Void)? = nil) {
    perform(completion.map { UserCode($0) }) { $0.setNetwork(false, $1) }
  }

  /// Stays offline until ``enableNetwork(completion:)``; returns once that is so.
  ///
  /// - Throws: `failedPrecondition` after ``terminate()``; `cancelled`.
  nonisolated(nonsending)
    public func disableNetwork() async throws(FirestoreError)
  { try await waitUntil { $0.setNetwork(false, $1) } }

  /// Waits for the writes that wait now, not for later ones.
  ///
  /// - Parameter completion: called once all were accepted or refused; with `cancelled` when another
  ///   user signs in before.
  public func waitForPendingWrites(completion: @escaping ((any Error)?) -> Void) {
    perform(UserCode(completion)) { $0.waitForPendingWrites($1) }
  }

  /// Waits for the writes that wait now, not for later ones.
  ///
  /// - Throws: `cancelled` when another user signs in before, or the waiting task is cancelled.
  nonisolated(nonsending)
    public func waitForPendingWrites() async throws(FirestoreError)
  { try await waitUntil { $0.waitForPendingWrites($1) } }

  /// Ends the database: listeners are told no more, and every later call tells an error. Data and writes
  /// that wait stay.
  ///
  /// - Parameter completion: called once the store is closed, also when the end was asked for before.
  public func terminate(completion: (((any Error)?) -> Void)? = nil) {
    let user = completion.map { UserCode<(any Error)?>($0) }
    let (engine, use) = end()
    if let engine {
      engine.terminate { error in
        use?.end()
        user?(error)
      }
    } else if let user {
      guard let use else { return deliver { user(nil) } }
      use.whenOver { [self] in deliver { user(nil) } }
    }
  }

  /// Ends the database; returns once the store is closed, also when the end was asked for before. Data and
  /// writes that wait stay.
  ///
  /// - Throws: what the store does; `cancelled`.
  nonisolated(nonsending)
    public func terminate() async throws(FirestoreError)
  {
    let (engine, use) = end()
    do throws(DatabaseError) {
      guard let engine else {
        try await use?.over()
        return
      }
      let closed = Promise<Void>()
      engine.terminate { error in
        use?.end()
        closed.resolve(error.map { .failure(DatabaseError($0)) } ?? .success(()))
      }
      try await closed.value()
    } catch {
      throw FirestoreError(error)
    }
  }

  /// Has a listener called once now, and whenever all listeners' snapshots are of one moment.
  ///
  /// - Parameter listener: called without arguments.
  /// - Returns: what ends it.
  @discardableResult
  public func addSnapshotsInSyncListener(
    _ listener: @escaping () -> Void
  ) -> any ListenerRegistration {
    let listening = ListenerHandle(self)
    let user = UserCode<Void> { listener() }
    do throws(FirestoreError) {
      try engine().listenInSync(listening.id) { [listening] in
        if listening.isOn { user(()) }
      }
    } catch {
      report(error)
    }
    return listening
  }
}
