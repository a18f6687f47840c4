package import ConiferQuery
package import ConiferStorage
package import ConiferWire

/// What a connection machine is told.
package enum ConnectionInput: Sendable {
  // MARK: The connection

  /// A reason not to connect ended; `offline` also ends `shutdown`. Connecting begins at once.
  case reasonEnded(CloseReason)
  /// A reason not to connect began.
  case reasonBegan(CloseReason)
  /// The network is back, or the app is in the foreground: a waiting attempt begins at once.
  case networkReturned
  /// Something happened on a connection; events of earlier ones are ignored.
  case event(TransportEvent, ConnectionNumber)
  /// Answers `probe`, when the transport cannot ask.
  case cannotProbe(ConnectionNumber)
  /// The app's token provider answered the request with a number. An answer is ignored when a newer one
  /// came, or when `refreshToken` came after its request.
  case token(TokenAnswer, fetch: UInt64)
  /// Who is signed in may have changed: the token provider is asked again, until it answers.
  case refreshToken
  /// The provider of the app's own tokens answered the request with a number; only the newest counts.
  case appToken(AppTokenAnswer, fetch: UInt64)
  /// The app has another token of its own: its provider is asked again, unless it is being forced to give another one.
  case refreshAppToken
  /// The time of a `wake` came; harmless at any time.
  case tick

  // MARK: Listens

  /// The server is to be asked for a listen, now and on every later connection.
  case listen(Listen)
  /// The server is to end a listen; one that it refused or revoked is unknown and ignored.
  case unlisten(Listen)

  // MARK: The queue

  /// A write was queued, or a rejected one is to be tried again.
  ///
  /// Told in the order of the numbers, after the commit, and before anything that the app issues later.
  case write(OutboundWrite)
  /// Answers `needWrites`: the waiting writes of a lane by number, as they are now, without those that have
  /// ended (which the caller knows, also where the store does not); after which number, as it was asked;
  /// whether the queue holds no more. There may be fewer than the limit. No writes and `isLast` false say
  /// that the queue cannot be read; it is asked again with the next write or connection. The answer to an
  /// older question is ignored.
  case writes([OutboundWrite], Lane, after: WriteID?, isLast: Bool)
  /// Answers `markSent`: they can be sent.
  case marked([OutboundWriteID])
  /// Answers `markSent`: that could not be stored, so they must not be sent. They are marked again after
  /// a delay.
  case notMarked([OutboundWriteID])
  /// A write that is not under way is not to be sent: the app gave it up, or a later one replaced it.
  case withdraw(OutboundWriteID)
  /// Answers `laneChanged`: the newest number of the new lane. No write is asked for before.
  case laneOpened(newest: WriteID?)

  // MARK: Operations

  /// The server is to be asked for data once. It is asked at once, so its answer holds no write that was
  /// not sent yet; with how long it waits for a connection, nil for as long as reads do.
  case get(OperationID, QueryTarget, patience: Milliseconds? = nil)
  /// A transaction is to be tried.
  case put(TransactionPut)
  /// The server is to do something when the connection ends.
  case onDisconnect(OperationID, DisconnectRequest)
  /// The answers that wait for listens are to be handed on now, since the queue is to be purged.
  case deliverAnswers
  /// All waiting transactions and onDisconnects are given up.
  case giveUpOperations
  /// All waiting writes, transactions and onDisconnects are given up; the caller has emptied the store's
  /// queue.
  case purge
}
