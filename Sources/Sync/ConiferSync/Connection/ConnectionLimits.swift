/// Times, all in milliseconds, and sizes of a connection; the defaults are the SDKs' where they have any.
package struct ConnectionLimits: Hashable, Sendable {
  /// The delays between attempts to connect.
  package struct Delays: Hashable, Sendable {
    /// The delay after the first failed attempt.
    package var first: Milliseconds = 1_000
    /// By which factor each further delay is longer.
    package var factor = 1.3
    /// The longest delay, and the one after three refused tokens in a row.
    package var longest: Milliseconds = 30_000
  }

  /// How many writes and puts may wait for an answer at once.
  package var window = 64
  /// How many bytes they may have together; a larger one goes alone.
  package var windowBytes = 1 << 20
  /// How long opening a connection may take.
  package var connectTimeout: Milliseconds = 30_000
  /// How long the token provider may take.
  package var tokenTimeout: Milliseconds = 30_000
  /// How long a connection waits for the provider of the app's own tokens.
  package var appTokenTimeout: Milliseconds = 10_000
  /// After how long without an answer that provider is asked again.
  package var appTokenPatience: Milliseconds = 300_000
  /// After how long without a sent message a keep-alive is sent.
  package var keepAliveInterval: Milliseconds = 45_000
  /// How long nothing may come, while an answer is due, before the server is probed.
  package var idleBeforeProbe: Milliseconds = 10_000
  /// How long nothing may come after a probe before the connection is given up; a quarter of a
  /// millisecond is added for each byte of the writes that wait for an answer.
  package var probeTimeout: Milliseconds = 15_000
  /// Where the transport cannot probe: how long nothing may come, while an answer is due, before the
  /// connection is given up, with the same addition for writes. A server that goes on sending may take ten
  /// times as long for one answer.
  package var responseTimeout: Milliseconds = 60_000
  /// What is added to `responseTimeout` while the answer to a listen or a get is due.
  package var readAllowance: Milliseconds = 600_000
  /// How long a get waits for a connection, unless the app is offline.
  package var getTimeout: Milliseconds = 3_000
  /// How long before its expiry a token is replaced; at most half of the time that is left.
  package var refreshMargin: Milliseconds = 300_000
  /// The delays between attempts to connect.
  package var delays = Delays()
  /// How long a connection must stand for the delays to begin again with the first.
  package var stableTime: Milliseconds = 30_000

  /// The defaults.
  package init() {}
}
