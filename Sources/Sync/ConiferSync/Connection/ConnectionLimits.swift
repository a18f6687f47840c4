/// The times and sizes that a connection keeps to; the defaults are those of the SDKs where they have
/// such.
package struct ConnectionLimits: Hashable, Sendable {
  /// How many writes and puts may wait for an answer at once.
  package var window = 64
  /// How many bytes they may have together; a larger one goes alone.
  package var windowBytes = 1 << 20
  /// How long opening a connection may take.
  package var connectTime: Milliseconds = 30_000
  /// How long the token provider may take.
  package var tokenTime: Milliseconds = 30_000
  /// How long nothing may be sent before a sign of life is.
  package var keepAlive: Milliseconds = 45_000
  /// How long nothing may come while an answer is waited for, before the server is asked for a sign of
  /// life.
  package var quiet: Milliseconds = 10_000
  /// How long nothing at all may come after that question, before the connection is given up; and a
  /// quarter of a millisecond more for each byte of the writes that wait for an answer.
  package var probe: Milliseconds = 15_000
  /// How long instead of `quiet` and `probe`, and as much more for writes, where the transport cannot
  /// ask. A server that lives may take ten times as long for one answer.
  package var silence: Milliseconds = 60_000
  /// How much longer than `silence`, while data is waited for.
  package var reading: Milliseconds = 600_000
  /// How long a get waits for a connection, unless the app is offline.
  package var getTime: Milliseconds = 3_000
  /// How long before its expiry a token is replaced, at most half of its time.
  package var refreshMargin: Milliseconds = 300_000
  /// The first delay after a failed attempt.
  package var firstDelay: Milliseconds = 1_000
  /// By how much each further delay is longer.
  package var delayFactor = 1.3
  /// The longest delay, and the one after three refused tokens in a row.
  package var longestDelay: Milliseconds = 30_000
  /// How long a connection must have stood for the delays to begin anew.
  package var steadyTime: Milliseconds = 30_000

  /// The defaults.
  package init() {}
}
