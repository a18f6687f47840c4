package import ConiferStorage
package import ConiferWire

/// What a connection machine asks its owner to do, in order.
package enum ConnectionAction: Hashable, Sendable {
  // MARK: The connection

  /// Open a connection, and hand its events over under the number.
  case connect(ConnectionRequest, ConnectionNumber)
  /// Close the connection with this number. Its later events are ignored.
  case disconnect(ConnectionNumber)
  /// Ask the server for a sign of life; answer with `cannotProbe` where that is not possible.
  case probe(ConnectionNumber)
  /// Send a message on the connection.
  case send(ClientMessage)
  /// Send a listen as the request with this number, with the hash of the data that there is now.
  case sendListen(UInt64, Listen)
  /// Ask the app's token provider, and answer with the number; forced when the last token was refused
  /// or is about to expire.
  case fetchToken(force: Bool, number: UInt64)
  /// Ask the provider of the app's own tokens, and answer with the number; earlier requests are out of date.
  case fetchAppToken(force: Bool, number: UInt64)
  /// Call `handle(.tick)` at this uptime, besides earlier requests.
  case wake(at: Milliseconds)
  /// There is a connection, or no longer (`.info/connected`).
  case connected(Bool)
  /// The server's time minus the device's, in milliseconds (`.info/serverTimeOffset`).
  case offset(Int64)
  /// Operations can be sent, or no longer: transactions that are ready may be issued.
  case writable(Bool)
  /// The server sent the client away, until the app goes online again; with the reason.
  case shutDown(String)
  /// A message for a log, without secrets.
  case log(String)

  // MARK: Who the client is

  /// Whether it is known who is signed in has changed. After the other actions of this call, the app's
  /// calls wait or go on.
  case identification(Identification)
  /// Whether the token lets writes be sent has changed.
  case authentication(Authentication)
  /// Another user is signed in, or nobody: views show this lane from now on. Answered by
  /// `laneOpened`.
  case laneChanged(Lane)
  /// The token to store for the next start; nil for none.
  case keepToken(UserToken?)

  // MARK: Listens

  /// The server answered a listen; when not `ok`, it is ended.
  case listenAnswered(Listen, Response)
  /// The server no longer allows a listen; it is ended.
  case listenRevoked(Listen)
  /// The server sent data.
  case updated(DataUpdate)

  // MARK: The queue

  /// Answer with `writes`: those of this lane after a number. Replaces an earlier question without an
  /// answer.
  case needWrites(Lane, after: WriteID?, limit: Int)
  /// Store durably that these are sent, then answer with `marked`, after which they are sent, or with
  /// `notMarked`.
  case markSent([OutboundWriteID])
  /// A write was sent; also told of writes that were marked.
  case writeSent(OutboundWriteID)
  /// The server answered a write: it has ended. `isDataMissing` says that a listen at, above or
  /// below its paths was sent before the answer came and is not answered yet, so the client's copy
  /// of the server's data may be older than the write.
  case writeAnswered(OutboundWriteID, Response, isDataMissing: Bool = false)
  /// A write was sent, and the connection broke or the user changed before its answer.
  case writeOutcomeUnknown(OutboundWriteID)
  /// The server refused a write because it did not take the token; it is sent again.
  case writeReturned(OutboundWriteID)

  // MARK: Operations

  /// The server answered a get.
  case getAnswered(OperationID, Response)
  /// A get could not be sent for 3 seconds, or the app is offline: read the cache.
  case getUnavailable(OperationID)
  /// The server answered a transaction's put. `isDataMissing` as in `writeAnswered`.
  case putAnswered(OperationID, Response, isDataMissing: Bool = false)
  /// A transaction's put ended without an answer.
  case putGivenUp(OperationID, LocalStatus)
  /// A put was not sent, or was refused for want of a valid token: it may be issued again.
  case putReturned(OperationID)
  /// The server answered an onDisconnect.
  case onDisconnectAnswered(OperationID, Response)
  /// An onDisconnect ended without an answer.
  case onDisconnectGivenUp(OperationID, LocalStatus)
}
