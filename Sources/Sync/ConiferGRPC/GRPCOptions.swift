#if GRPC
  /// Times, trust and headers of a connection over gRPC.
  public struct GRPCOptions: Hashable, Sendable {
    /// After how long a silence the server of an open connection is asked for a sign of life; longer than
    /// `keepAliveTimeout`, and a shorter time counts as that.
    public var keepAlive: Duration = .seconds(30)
    /// How long the server may take for a sign of life before the connection counts as lost.
    public var keepAliveTimeout: Duration = .seconds(20)
    /// How long a stream or a request may take to reach the server before the attempt counts as failed.
    public var openTimeout: Duration = .seconds(30)
    /// How long a connection without streams and requests stays open.
    public var idleTime: Duration = .seconds(60)
    /// Certificates in PEM form that are trusted instead of those of the system, such as your own
    /// server's; empty for those of the system.
    public var trustedCertificates: [UInt8] = []
    /// Headers that every request carries besides those of the protocol, such as an app's attestation.
    ///
    /// Names are ASCII in lower case.
    public var headers: [String: String] = [:]
    /// Whether a stream of writes begins by showing the token of the one before it, for servers that know by it which
    /// batches they have made.
    ///
    /// The vendor's service has its clients begin without.
    public var resumesWrites = false

    /// The defaults.
    public init() {}
  }
#endif
