/// The settings of a ``RESTResponder``, such as its limits and how it verifies tokens.
public struct RESTConfiguration: Sendable {
  /// How a bearer token is verified, from the header `Authorization` or the parameter
  /// `access_token`.
  public enum Bearers: Sendable {
    /// Any token is the administrator's: for servers that nobody else can reach, as the Realtime
    /// Database's emulator does.
    case administrators
    /// The server's authenticator verifies it.
    case verified
  }

  /// How a header's token is verified.
  public var bearers: Bearers
  /// How long an event stream is silent before `keep-alive` is sent.
  public var keepAlive: Duration
  /// The maximum estimated bytes of updates that wait for the reader of an event stream; beyond
  /// that the stream ends.
  public var backlog: Int
  /// The maximum estimated bytes of updates that wait for the readers of all event streams: 256
  /// MiB. Beyond that, a stream that gets more ends; streams for which at most 16 KiB wait have a
  /// quarter more in all.
  public var backlogs: Int
  /// The maximum size of a request's body: 256 MiB.
  public var body: Int
  /// The maximum estimated size of an answer: 256 MiB.
  public var answer: Int

  /// What requests of REST may do.
  ///
  /// - Parameters:
  ///   - bearers: how a header's token is verified: by default by the authenticator.
  ///   - keepAlive: how long an event stream is silent before `keep-alive` is sent.
  ///   - backlog: the maximum bytes that wait for the reader of an event stream.
  ///   - backlogs: the maximum bytes that wait for the readers of all event streams.
  ///   - body: the maximum size of a request's body.
  ///   - answer: the maximum size of an answer.
  public init(
    bearers: Bearers = .verified, keepAlive: Duration = .seconds(30),
    backlog: Int = 16 * 1024 * 1024, backlogs: Int = 256 * 1024 * 1024,
    body: Int = 256 * 1024 * 1024,
    answer: Int = 256 * 1024 * 1024
  ) {
    self.bearers = bearers
    self.keepAlive = keepAlive
    self.backlog = backlog
    self.backlogs = backlogs
    self.body = body
    self.answer = answer
  }
}
