package import ConiferQuery
package import ConiferStorage
package import ConiferTree
package import ConiferWire

/// A reason not to connect; the client connects when no reason is left.
package enum CloseReason: Hashable, Sendable {
  /// The engine is not ready yet; holds at first.
  case starting
  /// The app went offline.
  case offline
  /// The app is suspended.
  case suspended
  /// The server sent the client away.
  case shutdown
}

/// The number of a connection; never given twice by one machine.
package struct ConnectionNumber: Hashable, Comparable, Sendable {
  /// The number, from 1.
  package let rawValue: UInt64

  /// The connection with a number.
  package init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Orders connections by the time of their beginning.
  package static func < (a: ConnectionNumber, b: ConnectionNumber) -> Bool {
    a.rawValue < b.rawValue
  }
}

/// The number of a get, an onDisconnect or a transaction's put; the caller gives no number twice to
/// operations of one kind.
package struct OperationID: Hashable, Sendable {
  /// The number.
  package let rawValue: UInt64

  /// The operation with a number.
  package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// What the server is to do when the connection ends.
package enum DisconnectRequest: Hashable, Sendable {
  /// Replaces a node.
  case put(Path, Node)
  /// Replaces several nodes below a path; their paths are relative.
  case merge(Path, [NodeChange])
  /// Cancels what was to happen at and below a path.
  case cancel(Path)

  /// Where.
  package var path: Path {
    switch self {
    case .put(let path, _), .merge(let path, _), .cancel(let path): return path
    }
  }

  /// The request that carries it.
  package var request: Request {
    switch self {
    case .put(let path, let node): return .onDisconnectPut(path, node)
    case .merge(let path, let changes): return .onDisconnectMerge(path, changes)
    case .cancel(let path): return .onDisconnectCancel(path)
    }
  }
}

/// A transaction's attempt: a put that the server applies only if the node there has a hash.
package struct TransactionPut: Hashable, Sendable {
  /// Its number.
  package let id: OperationID
  /// Its place in the order of all that was issued: that of its first transaction.
  package let place: OverlayID
  /// Where.
  package let path: Path
  /// The new node, with server values unresolved.
  package let node: Node
  /// The hash that the node there must have.
  package let hash: String

  /// A transaction's attempt.
  package init(_ id: OperationID, place: OverlayID, _ path: Path, _ node: Node, hash: String) {
    self.id = id
    self.place = place
    self.path = path
    self.node = node
    self.hash = hash
  }
}

/// What a connection machine is told.
package enum ConnectionInput: Sendable {
  // MARK: The connection

  /// A reason not to connect ended; `offline` also ends `shutdown`. Connecting begins at once.
  case open(CloseReason)
  /// A reason not to connect began.
  case close(CloseReason)
  /// The network is back, or the app is in the foreground: a waiting attempt begins at once.
  case networkReturned
  /// Something happened on a connection; events of earlier ones are ignored.
  case event(TransportEvent, ConnectionNumber)
  /// Answers `probe`, when the transport cannot ask.
  case cannotProbe(ConnectionNumber)
  /// The app's token provider answered the request with a number, or reported something unasked (nil),
  /// such as another user. An answer is ignored when a newer one came, or when `refreshToken` came after
  /// its request.
  case token(TokenAnswer, fetch: UInt64? = nil)
  /// Who is signed in may have changed: the token provider is asked again, until it answers.
  case refreshToken
  /// The time of a `wake` came; harmless at any time.
  case tick

  // MARK: Listens

  /// The server is to be asked for a listen, now and on every later connection.
  case listen(Listen)
  /// The server is to end a listen; one that it refused or revoked is unknown and ignored.
  case unlisten(Listen)

  // MARK: The queue

  /// A write was queued, or a rejected one is to be tried again, or a withdrawn one was changed.
  ///
  /// Told in the order of the numbers, after the commit, and before anything that the app issues later.
  case write(OutboundWrite)
  /// Answers `needWrites`: the waiting writes of a lane by number, as they are now; after which number,
  /// as it was asked; whether the queue holds no more. There may be fewer than the limit. No writes and
  /// `isLast` false say that the queue cannot be read; it is asked again with the next write or
  /// connection. The answer to an older question is ignored.
  case writes([OutboundWrite], Lane, after: WriteID?, isLast: Bool)
  /// Answers `markSent`: they can be sent.
  case marked([OutboundWriteID])
  /// Answers `markSent`: that could not be stored, so they must not be sent. They are marked again after
  /// a delay.
  case notMarked([OutboundWriteID])
  /// The app takes a write back or changes it; an answer that still comes is ignored.
  case withdraw(OutboundWriteID)
  /// A write that `lastUnsent` names is not to be sent: a later one, which is told next, replaced it.
  case superseded(OutboundWriteID)
  /// The store holds how an answered or superseded write ended.
  case finished(OutboundWriteID)
  /// Answers `laneChanged`: the newest number of the new lane. No write is asked for before.
  case laneOpened(newest: WriteID?)

  // MARK: Operations

  /// The server is to be asked for data once. It is asked at once, so its answer holds no write that was
  /// not sent yet.
  case get(OperationID, QueryTarget)
  /// A transaction is to be tried.
  case put(TransactionPut)
  /// The server is to do something when the connection ends.
  case onDisconnect(OperationID, DisconnectRequest)
  /// All waiting writes, transactions and onDisconnects are given up; the caller empties the store's
  /// queue.
  case purge
}
