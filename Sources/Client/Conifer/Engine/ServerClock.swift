import Synchronization

/// The device's clock, and what the server's is ahead of it; for any thread.
final class ServerClock: Sendable {
  let device: any EngineClock
  private let offset = Atomic<Int64>(0)

  init(_ device: any EngineClock) { self.device = device }

  /// The server's time in milliseconds since 1970, as far as it is known.
  var serverTime: Int64 { device.wallTime &+ offset.load(ordering: .relaxed) }

  /// Takes what the server's time is ahead of the device's, in milliseconds.
  func set(offset milliseconds: Int64) { offset.store(milliseconds, ordering: .relaxed) }
}
