public import ConiferWire

/// One client's connection to a database of a server, whatever carries it.
///
/// Both members may be called from any thread; calls are handled in their order.
public final class ServerSession: Sendable {
  /// What the client may give as its last session when it connects again.
  public let name: String
  let id: SessionID
  private let host: NamespaceHost

  init(name: String, id: SessionID, host: NamespaceHost) {
    self.name = name
    self.id = id
    self.host = host
  }

  /// Handles a message; what it brings about was handed to the sessions' receivers on return, unless
  /// it waits for a commit. Does nothing once the session has ended.
  public func receive(_ message: ClientMessage) { host.handle(.message(id, message)) }

  /// Makes the session a token's bearer's, who was checked already; nil for nobody's. The client is
  /// told nothing, but when the token's time is over.
  public func adopt(_ token: VerifiedToken?) { host.handle(.adopt(id, token)) }

  /// Ends the validity of the client's token, which is told so.
  public func expireToken() { host.handle(.expireTokens([id])) }

  /// Ends the session: its listens end, and its onDisconnect operations run. A second call does
  /// nothing.
  public func end() { host.end(id) }
}
