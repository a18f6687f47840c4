public import ConiferWire

/// One client's connection to a database of a server, over any transport.
///
/// Both members may be called from any thread; calls are handled in their order.
public final class ServerSession: Sendable {
  /// The name that the client may give as its last session when it reconnects.
  public let name: String
  let id: SessionID
  private let host: NamespaceHost

  init(name: String, id: SessionID, host: NamespaceHost) {
    self.name = name
    self.id = id
    self.host = host
  }

  /// Handles a message. On return its effects were passed to the sessions' receivers, unless it
  /// waits for a commit. Does nothing after the session has ended.
  public func receive(_ message: ClientMessage) { host.handle(.message(id, message)) }

  /// Sets the session's user from a token that was already verified; nil for nobody. The client is
  /// told only when the token expires.
  public func adopt(_ token: VerifiedToken?) { host.handle(.adopt(id, token)) }

  /// Expires the client's token and tells the client.
  public func expireToken() { host.handle(.expireTokens([id])) }

  /// Ends the session: its listens end, and its onDisconnect operations run. A second call does
  /// nothing.
  public func end() { host.end(id) }
}
