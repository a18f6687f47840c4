/// Times and sizes of a connection; the defaults are the SDKs' where they have any.
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
  package var connectTime: Milliseconds = 30_000
  /// How long the token provider may take.
  package var tokenTime: Milliseconds = 30_000
  /// After how long without a sent message a keep-alive is sent.
  package var keepAlive: Milliseconds = 45_000
  /// After how long without any message, while an answer is due, the server is asked for a sign of life.
  package var quiet: Milliseconds = 10_000
  /// After how long without any byte since that question the connection is given up; a quarter of a
  /// millisecond is added for each byte of the writes that wait for an answer.
  package var probe: Milliseconds = 15_000
  /// Where the transport cannot ask: after how long without any message the connection is given up, with
  /// the same addition for writes. A server that sends other messages may take ten times as long for
  /// one answer.
  package var silence: Milliseconds = 60_000
  /// What is added to `silence` while data is waited for.
  package var reading: Milliseconds = 600_000
  /// How long a get waits for a connection, unless the app is offline.
  package var getTime: Milliseconds = 3_000
  /// How long before its expiry a token is replaced; at most half of the time that is left.
  package var refreshMargin: Milliseconds = 300_000
  /// The delays between attempts to connect.
  package var delays = Delays()
  /// How long a connection must stand for the delays to begin again with the first.
  package var steadyTime: Milliseconds = 30_000

  /// The defaults.
  package init() {}
}
