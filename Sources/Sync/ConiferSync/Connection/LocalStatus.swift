/// Why a transaction's put or an onDisconnect ended here, without the server's answer.
package enum LocalStatus: Hashable, Sendable {
  /// It was sent, and the connection broke before the answer.
  case disconnect
  /// The app gave up all that waited.
  case writeCanceled
  /// Another user signed in before it was sent.
  case identityChanged
  /// A set or an update replaced the data of a transaction.
  case overriddenBySet
  /// The data of a transaction changed at each of its attempts.
  case maxRetries
  /// The app closed the database.
  case databaseClosed
}
