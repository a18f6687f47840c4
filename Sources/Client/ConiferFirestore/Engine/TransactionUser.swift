import Synchronization

/// The user as whom a transaction runs: the one who was signed in at its first read, or at its commit if it reads
/// nothing.
package final class TransactionUser: Sendable {
  private let identity = Mutex<String?>(nil)
  private let isAnother = Mutex(false)

  /// Whether another user has signed in since, as whom the transaction does not run.
  var hasChanged: Bool { isAnother.withLock { $0 } }

  /// Nobody was asked yet.
  package init() {}

  /// The server is about to be asked as a user.
  ///
  /// - Throws: `cancelled` when the transaction began as another one: it does not run again.
  func check(_ user: String) throws(FirestoreError) {
    let first = identity.withLock { identity in
      if identity == nil { identity = user }
      return identity ?? user
    }
    guard first.utf8.elementsEqual(user.utf8) else {
      isAnother.withLock { $0 = true }
      throw FirestoreError(
        .cancelled,
        "Another user signed in while the transaction ran: nothing was written. Run it anew as that user."
      )
    }
  }
}
