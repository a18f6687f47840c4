import Synchronization

/// The user as whom a transaction runs: the one who was signed in at its first read, or at its commit if it reads
/// nothing.
package final class TransactionUser: Sendable {
  private struct State {
    var identity: String?
    var hasChanged = false
  }

  private let state = Mutex(State())

  /// Whether another user has signed in since, as whom the transaction does not run.
  var hasChanged: Bool { state.withLock { $0.hasChanged } }

  /// Nobody was asked yet.
  package init() {}

  /// The server is about to be asked as a user.
  ///
  /// - Throws: `cancelled` when the transaction began as another one: it does not run again.
  func check(_ user: String) throws(FirestoreError) {
    let isOther = state.withLock { state in
      let first = state.identity ?? user
      state.identity = first
      if !first.utf8.elementsEqual(user.utf8) { state.hasChanged = true }
      return !first.utf8.elementsEqual(user.utf8)
    }
    guard !isOther else {
      throw FirestoreError(
        .cancelled,
        "Another user signed in while the transaction ran: nothing was written. Run it anew as that user."
      )
    }
  }
}
