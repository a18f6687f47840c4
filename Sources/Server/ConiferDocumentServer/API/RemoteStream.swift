package import ConiferDocument
package import ConiferWire
import Synchronization

/// A stream of a client over a network, as its front has it: what the database says, in order, and what the client asks for.
///
/// The database is known by the client's first message, so the stream is there before it is open. Whoever has it calls
/// `end` once it is done; all members may be called from any thread.
package final class RemoteStream<Event: Sendable>: Sendable {
  /// How streams of a kind begin and end in a database.
  struct Kind: Sendable {
    let open:
      @Sendable (StreamID, _ token: String?, @escaping @Sendable (Event) -> Void) -> DatabaseRequest
    let close: @Sendable (StreamID) -> DatabaseRequest
    /// The end, as it is said.
    let closed: @Sendable (StatusError?) -> Event
    let isClosed: @Sendable (Event) -> Bool
  }

  private enum State {
    case idle
    case open(DatabaseHost, StreamID)
    case ended
  }

  /// What the database says; the end comes last.
  package let events: AsyncStream<Event>
  private let continuation: AsyncStream<Event>.Continuation
  private let server: DocumentServer
  private let token: String?
  private let kind: Kind
  private let state = Mutex(State.idle)

  init(_ server: DocumentServer, token: String?, _ kind: Kind) {
    self.server = server
    self.token = token
    self.kind = kind
    // Bounded by the database: one moment that was not taken, or answers to requests that wait.
    (events, continuation) = AsyncStream.makeStream()
  }

  /// Opens it; nothing happens when it is open or has ended.
  ///
  /// - Throws: `resourceExhausted` while too many databases are in use.
  package func open(_ database: DatabaseID) throws(StatusError) {
    let host = try server.beginUse(of: database)
    let id = host.newStream()
    let isOpened = state.withLock { state in
      guard case .idle = state else { return false }
      state = .open(host, id)
      // In the lock: the end comes behind it.
      host.post(
        kind.open(id, token) { [continuation, kind] event in
          continuation.yield(event)
          if kind.isClosed(event) { continuation.finish() }
        })
      return true
    }
    if !isOpened { server.endUse(of: database) }
  }

  /// Asks the database for something; nothing is asked for before the stream is open and after its end.
  func ask(_ request: (StreamID) -> DatabaseRequest) {
    let opened = state.withLock { state -> (DatabaseHost, StreamID)? in
      if case .open(let host, let id) = state { (host, id) } else { nil }
    }
    if let (host, id) = opened { host.post(request(id)) }
  }

  /// The client sends nothing more. The stream ends when everything it asked for is done.
  package func finish() { if isOpen { ask(kind.close) } else { end(nil) } }

  private var isOpen: Bool {
    state.withLock { if case .open = $0 { true } else { false } }
  }

  /// Ends it now, for a reason that is said last; nothing happens when it has ended.
  package func end(_ error: StatusError?) {
    let opened = state.withLock { state -> (DatabaseHost, StreamID)? in
      defer { state = .ended }
      if case .open(let host, let id) = state { return (host, id) }
      return nil
    }
    continuation.yield(kind.closed(error))
    continuation.finish()
    guard let (host, id) = opened else { return }
    host.post(kind.close(id))
    // Requests of the stream may still wait there, so the database stays in memory until they are
    // done.
    host.post(.waitUntilIdle { [server] in server.endUse(of: host.database) })
  }
}

/// A stream of listens.
package typealias RemoteWatchStream = RemoteStream<[WatchStreamEvent]>

extension RemoteStream<[WatchStreamEvent]> {
  /// A stream of listens of whoever bears a token.
  package convenience init(listeningTo server: DocumentServer, token: String?) {
    self.init(
      server, token: token,
      Kind(
        open: { .openWatch($0, token: $1, $2) }, close: { .watch($0, .close) },
        closed: { [.closed($0)] },
        isClosed: { events in if case .closed = events.last { true } else { false } }))
  }

  /// Listens to a target.
  package func add(_ target: WatchTarget) { ask { .watch($0, .add(target)) } }

  /// Tells the client that a target is none.
  package func refuse(_ target: TargetID, _ error: StatusError) {
    ask { .watch($0, .refuse(target, error)) }
  }

  /// Listens to a target no longer.
  package func remove(_ target: TargetID) { ask { .watch($0, .remove(target)) } }

  /// The client has taken what was said last: the next moment may be made.
  package func taken() { ask { .watch($0, .ready) } }
}

/// A stream of writes.
package typealias RemoteWriteStream = RemoteStream<WriteStreamEvent>

extension RemoteStream<WriteStreamEvent> {
  /// A stream of writes of whoever bears a token.
  package convenience init(writingTo server: DocumentServer, token: String?) {
    self.init(
      server, token: token,
      Kind(
        open: { .openWrites($0, token: $1, $2) }, close: { .writes($0, .close) },
        closed: { .closed($0) },
        isClosed: { event in if case .closed = event { true } else { false } }))
  }

  /// Greets, once, before anything is sent.
  ///
  /// - Parameter token: of the last answer of an earlier stream; empty for none.
  package func greet(token: [UInt8]) { ask { .writes($0, .greet(token: token)) } }

  /// Sends writes that are made whole or not at all.
  package func send(_ writes: [Mutation], token: [UInt8]) {
    ask { .writes($0, .send(writes, batch: nil, token: token)) }
  }

  /// Ends the stream once all is answered that was sent before, for a reason.
  package func refuse(_ error: StatusError) {
    if isOpen { ask { .writes($0, .refuse(error)) } } else { end(error) }
  }
}
