public import ConiferTree

/// The server's answer to a request.
public struct Response: Hashable, Sendable {
  /// The status of a response, which is done or why not; unknown texts are kept.
  public struct Status: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    /// The status as the protocol spells it.
    public let rawValue: String

    /// The status with a spelling.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Done.
    public static let ok = Status(rawValue: "ok")
    /// The node does not have the hash that a put named.
    public static let dataStale = Status(rawValue: "datastale")
    /// The rules do not allow it.
    public static let permissionDenied = Status(rawValue: "permission_denied")
    /// The token has expired.
    public static let expiredToken = Status(rawValue: "expired_token")
    /// The server does not accept the token.
    public static let invalidToken = Status(rawValue: "invalid_token")
    /// The server cannot answer now.
    public static let unavailable = Status(rawValue: "unavailable")
    /// The data is larger than the server accepts.
    public static let tooBig = Status(rawValue: "too_big")
    /// Another error.
    public static let failure = Status(rawValue: "failure")

    /// The status as the protocol spells it.
    public var description: String { rawValue }
  }

  /// Whether it was done.
  public var status: Status
  /// For `get` the data; for `authenticate` the token's claims as `auth` and the seconds until it expires
  /// as `expires`; empty otherwise.
  public var node: Node
  /// The server's message why it was not done; nil when there is none.
  public var reason: String?
  /// The server's warnings, such as `no_index`. They mean something for listens only: the data of a
  /// `get` may look the same.
  public var warnings: [String]

  /// An answer.
  public init(
    _ status: Status, node: Node = .empty, reason: String? = nil, warnings: [String] = []
  ) {
    self.status = status
    self.node = node
    self.reason = reason
    self.warnings = warnings
  }

  /// Done, with nothing to say.
  public static let ok = Response(.ok)
}
