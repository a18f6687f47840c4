/// What answers one read: the server, what is here, or first one and then the other.
///
/// What is here is what an observer shows, or what the cache has; it answers only where all that is asked for is known,
/// and with the app's waiting writes over it, as does the server's answer. A place in `.info` is answered by the client
/// under each policy.
public struct ReadPolicy: Hashable, Sendable {
  /// What may answer instead of the server.
  enum Local: Hashable, Sendable {
    case nothing
    /// What an observer shows.
    case shown
    /// What is shown or cached.
    case complete
    /// The same, where the server keeps it up to date, or told it not longer ago than so many milliseconds.
    case recent(Int64)
  }

  /// Whether the server is asked.
  enum Server: Hashable, Sendable {
    case notAsked
    /// It is, and may take as long as it does where there is a connection.
    case asked
    /// It may take so many milliseconds, counted from the app's call.
    case askedWithin(Int64)
  }

  /// What answers before the server is asked.
  let before: Local
  /// Whether it is asked.
  let server: Server
  /// What answers when the server does not.
  let after: Local

  private init(before: Local = .nothing, _ server: Server = .asked, after: Local = .nothing) {
    self.before = before
    self.server = server
    self.after = after
  }

  /// What an observer shows, else the server; after 3 s without a connection, what the cache has: what
  /// ``DatabaseQuery/getData()`` does without a policy.
  public static let `default` = ReadPolicy(before: .shown, after: .complete)

  /// The server alone; after 3 s without a connection, the error `disconnected`.
  public static let server = ReadPolicy()

  /// What is here alone; the error `notCached` where that is not all.
  public static let cache = ReadPolicy(before: .complete, .notAsked)

  /// What is here, at once; where that is not all, the server as with ``server``.
  public static let cacheFirst = ReadPolicy(before: .complete)

  /// The server, if it answers in time; it may take all of that to get a connection.
  ///
  /// An answer that comes later is kept in the cache. An app that went offline, and one without a server, do not wait.
  /// Where the server was not reached in time, the error is `unavailable`.
  ///
  /// - Parameters:
  ///   - seconds: how long, from the call on; what is no number, or less than 0, counts as 0.
  ///   - orCache: whether what is here answers then.
  public static func server(within seconds: Double, orCache: Bool) -> ReadPolicy {
    ReadPolicy(.askedWithin(milliseconds(seconds)), after: orCache ? .complete : .nothing)
  }

  /// What is here, if the server keeps it up to date or told it not longer ago than some time; otherwise the server, as
  /// with ``server``.
  ///
  /// When the server told it is known by its own time and in this run alone: after a restart the server is asked once.
  ///
  /// - Parameter seconds: how long; what is no number, or less than 0, counts as 0.
  public static func cache(notOlderThan seconds: Double) -> ReadPolicy {
    ReadPolicy(before: .recent(milliseconds(seconds)))
  }

  /// How long the read gives the server, in milliseconds; nil for as long as reads do.
  var patience: Int64? { if case .askedWithin(let time) = server { time } else { nil } }

  /// Some thousand years at most, so that no sum of times overflows.
  private static func milliseconds(_ seconds: Double) -> Int64 {
    seconds > 0 ? Int64(min(seconds * 1000, 1e14).rounded(.up)) : 0
  }
}

// MARK: Why nothing answered

extension ReadPolicy {
  /// The error for a read that the server cannot be asked for, and that nothing else may answer.
  func unreachable(_ target: some CustomStringConvertible) -> DatabaseError {
    if case .notAsked = server {
      return DatabaseError(.notCached, "The cache does not hold all of \(target).")
    }
    switch (before, after) {
    case (.recent(let age), _):
      return DatabaseError(
        .disconnected,
        "There is no connection, and the cache holds nothing of \(target) that is known to be no older than "
          + "\(Self.words(age)).",
        remedy: "Wait for a connection, or take an older answer.")
    case (.complete, _), (_, .complete):
      return DatabaseError(
        .disconnected, "There is no connection, and the cache does not hold all of \(target).")
    default:
      return DatabaseError(
        .disconnected, "There is no connection, and only the server may answer for \(target).")
    }
  }

  /// The error for a read that the server did not answer in time, and that nothing else may answer.
  func late(_ target: some CustomStringConvertible) -> DatabaseError {
    let rest = after == .nothing ? "" : ", and the cache does not hold all of it"
    return DatabaseError(
      .unavailable,
      "The server did not answer for \(target) within \(Self.words(patience ?? 0))\(rest).",
      remedy: "Give it more time, or try again later.")
  }

  private static func words(_ milliseconds: Int64) -> String {
    milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
  }
}
