import Synchronization

/// The device's clock, and what the server's is ahead of it; for any thread.
package final class ServerClock: Sendable {
  package let device: any EngineClock
  private let offset = Atomic<Int64>(0)

  package init(_ device: any EngineClock) { self.device = device }

  /// The server's time in milliseconds since 1970, as far as it is known.
  package var serverTime: Int64 { device.wallTime &+ offset.load(ordering: .relaxed) }

  /// Takes what the server's time is ahead of the device's, in milliseconds.
  package func set(offset milliseconds: Int64) { offset.store(milliseconds, ordering: .relaxed) }
}
