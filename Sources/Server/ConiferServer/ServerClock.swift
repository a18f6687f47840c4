import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A server's clock: the system's time with an offset, or a time that stands still until it is
/// moved.
public final class ServerClock: Sendable {
  private struct State {
    var offset: Int64
    let isStopped: Bool
  }

  private let state: Mutex<State>

  /// The system's time with an offset.
  ///
  /// - Parameter offset: milliseconds by which the server is ahead of it.
  public init(offset: Int64 = 0) { state = Mutex(State(offset: offset, isStopped: false)) }

  /// A time that stands still.
  ///
  /// - Parameter milliseconds: the time, in milliseconds since 1970.
  public init(stoppedAt milliseconds: Int64) {
    state = Mutex(State(offset: milliseconds, isStopped: true))
  }

  /// The time in milliseconds since 1970.
  public var now: Int64 {
    state.withLock { $0.isStopped ? $0.offset : Self.system &+ $0.offset }
  }

  /// Whether the time moves only when told to.
  public var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Moves the time, also backwards. Call `Server.tick()` afterwards to handle what is due at the
  /// new time.
  public func advance(by milliseconds: Int64) {
    state.withLock { $0.offset &+= milliseconds }
  }

  private static var system: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}
