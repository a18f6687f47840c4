#if WebSocket
  /// The timeouts, message limit and trusted certificates of a ``WebSocketTransport``.
  public struct WebSocketOptions: Hashable, Sendable {
    /// How long it may take until the WebSocket is open; the client gives up an attempt after 30 s in any case.
    public var connectTime: Duration = .seconds(30)
    /// How long the server may take to answer a close frame.
    public var closeTime: Duration = .seconds(2)
    /// The most bytes of a message from the server, in one frame or in many; up to 4 GiB.
    public var messageLimit = 256 << 20
    /// Certificates in PEM form that are trusted beside those of the system, such as your own
    /// server's.
    public var trustedCertificates: [UInt8] = []
    /// The header `User-Agent`.
    public var userAgent: String

    /// The defaults.
    public init() {
      #if canImport(Darwin)
        userAgent = "Conifer/5/unreleased/darwin/Swift"
      #else
        userAgent = "Conifer/5/unreleased/linux/Swift"
      #endif
    }
  }
#endif
