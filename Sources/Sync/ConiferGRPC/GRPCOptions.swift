#if GRPC
  /// Times, bounds, trust and headers of a connection over gRPC; descriptions and mirrors hide the headers' values.
  public struct GRPCOptions: Hashable, Sendable {
    /// After how long a silence the server of an open connection is asked for a sign of life; longer than
    /// `keepAliveTimeout`, and a shorter time counts as that.
    public var keepAlive: Duration = .seconds(30)
    /// How long the server may take for a sign of life before the connection counts as lost.
    public var keepAliveTimeout: Duration = .seconds(20)
    /// How long a stream or a request may take to reach the server before the attempt counts as failed.
    public var openTimeout: Duration = .seconds(30)
    /// How long a request (a transaction's reads or its commit, aggregates) may take in all before it fails with
    /// `deadlineExceeded`; the server is told, too. What it waits for a token of the app comes before, ten seconds at most.
    public var requestTimeout: Duration = .seconds(60)
    /// The most bytes that the answers to one request may have in all; a request with more fails with `outOfRange`.
    public var answerLimit = 64 << 20
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
    /// How long a server may take to do what a stream of writes has brought it before that was closed.
    var linger: Duration = .seconds(2)

    /// The defaults.
    public init() {}
  }

  extension GRPCOptions: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The options, with the names of the headers alone.
    public var description: String {
      let parts = customMirror.children.map { "\($0.label ?? ""): \($0.value)" }
      return "GRPCOptions(\(parts.joined(separator: ", ")))"
    }

    /// The same as `description`.
    public var debugDescription: String { description }

    /// Hides the values of the headers, also from dumps: they may be secrets.
    public var customMirror: Mirror {
      Mirror(
        self,
        children: [
          "keepAlive": keepAlive, "keepAliveTimeout": keepAliveTimeout, "openTimeout": openTimeout,
          "requestTimeout": requestTimeout, "answerLimit": answerLimit, "idleTime": idleTime,
          "trustedCertificates": "\(trustedCertificates.count) bytes",
          "headers": headers.keys.sorted(), "resumesWrites": resumesWrites,
        ])
    }
  }
#endif
