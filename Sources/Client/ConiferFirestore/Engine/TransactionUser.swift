import Synchronization

/// The user as whom a transaction runs: the one who was signed in at its first read, or at its commit if it reads
/// nothing.
package final class TransactionUser: Sendable {
  private let identity = Mutex<String?>(nil)

  /// Nobody was asked yet.
  package init() {}

  /// The server is about to be asked as a user.
  ///
  /// - Throws: `aborted` when the transaction began as another one, so that it runs again.
  func check(_ user: String) throws(FirestoreError) {
    let first = identity.withLock { identity in
      if identity == nil { identity = user }
      return identity ?? user
    }
    guard first.utf8.elementsEqual(user.utf8) else {
      throw FirestoreError(
        .aborted, "Another user signed in while the transaction ran. Run it again as that user.")
    }
  }
}
