import ConiferTree
import Synchronization

extension Database {
  /// Who the client is to its server, and whether the server takes that.
  public var authState: AuthState { engine.authState.current }

  /// The ``authState`` now, then each change; a slow reader gets only the newest.
  public var authStates: AsyncStream<AuthState> { engine.authState.values }

  /// Whether there is a connection on which the server has said hello.
  public var isConnected: Bool { engine.isConnected.current }

  /// ``isConnected`` now, then each change; a slow reader gets only the newest.
  public var connectionStates: AsyncStream<Bool> { engine.isConnected.values }

  /// Tells the database that somebody signed in or out, so that it asks the token provider anew.
  ///
  /// Calls that the app makes after this one, on any thread, wait until the provider has answered,
  /// and then run as the user who is signed in.
  public func tokenDidChange() { engine.refreshToken() }

  /// Tells the database that the app has another token of its own, so that it asks the
  /// ``DatabaseConfiguration/appCheckProvider`` anew and shows the server the new one.
  public func appCheckTokenDidChange() { engine.refreshAppToken() }

  /// The server's time in milliseconds since 1970, as far as it is known.
  public var serverTime: Int64 { engine.serverTime }
}

extension Database {
  /// A key that sorts after those that the database made before.
  func pushKey() -> Key {
    let engine = engine
    var random = RandomSource(next64: configuration.random)
    // The clock is read inside the lock: another thread's later time would begin a new millisecond.
    return pushIDs.withLock { $0.next(at: engine.serverTime, using: &random) }
  }
}
