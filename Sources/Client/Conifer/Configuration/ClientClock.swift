public import Dispatch

/// The time that a database goes by; tests give one of their own.
public protocol ClientClock: Sendable {
  /// The device's time in milliseconds since 1970, which may jump.
  var wallTime: Int64 { get }
  /// Milliseconds that only ever grow.
  var uptime: Int64 { get }
  /// Calls once when `uptime` has reached a time, on any thread; at once when it has already.
  ///
  /// - Parameters:
  ///   - uptime: when, on the scale of ``uptime``.
  ///   - body: what to call; it returns quickly.
  func wake(at uptime: Int64, _ body: @escaping @Sendable () -> Void)
}

/// The device's own clock.
public struct SystemClock: ClientClock {
  private let queue = DispatchQueue(label: "conifer.clock")

  /// The device's own clock.
  public init() {}

  /// The device's time in milliseconds since 1970.
  public var wallTime: Int64 { Platform.wallTime }

  /// Milliseconds since the device started.
  public var uptime: Int64 { Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000) }

  /// Calls once when `uptime` has reached a time.
  public func wake(at uptime: Int64, _ body: @escaping @Sendable () -> Void) {
    let wait = max(0, uptime - self.uptime)
    queue.asyncAfter(deadline: .now() + .milliseconds(Int(clamping: wait)), execute: body)
  }
}
