/// What requests of REST may do.
public struct RESTConfiguration: Sendable {
  /// Who the bearer of an `Authorization: Bearer` header, or of `access_token`, is.
  public enum Bearers: Sendable {
    /// The administrator, whatever the token: for servers that nobody else can reach, as the
    /// Realtime Database's emulator does.
    case administrators
    /// Who the server's authenticator says.
    case verified
  }

  /// Who the bearer of a header is.
  public var bearers: Bearers
  /// How long an event stream is silent before `keep-alive` is sent.
  public var keepAlive: Duration
  /// The most bytes of news, by estimate, that wait for the reader of an event stream; one that is
  /// slower is ended.
  public var backlog: Int
  /// The most bytes of news, by estimate, that wait for the readers of all event streams: 256 MiB. Where
  /// there would be more, the stream that gets them ends; those for which at most 16 KiB wait have a
  /// quarter more in all.
  public var backlogs: Int
  /// The most bytes of a request's body: 256 MiB.
  public var body: Int
  /// The most bytes, by estimate, of an answer: 256 MiB.
  public var answer: Int

  /// What requests of REST may do.
  ///
  /// - Parameters:
  ///   - bearers: who the bearer of a header is: by default who the authenticator says.
  ///   - keepAlive: how long an event stream is silent before `keep-alive` is sent.
  ///   - backlog: the most bytes of news that wait for the reader of an event stream.
  ///   - backlogs: the most bytes of news that wait for the readers of all event streams.
  ///   - body: the most bytes of a request's body.
  ///   - answer: the most bytes of an answer.
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
