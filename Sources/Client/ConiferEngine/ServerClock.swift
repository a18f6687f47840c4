import Synchronization

/// The server's time, from the device's clock and the known offset between the two; for any thread.
package final class ServerClock: Sendable {
  package let device: any EngineClock
  private let offset = Atomic<Int64>(0)

  package init(_ device: any EngineClock) { self.device = device }

  /// The server's time in milliseconds since 1970, as far as it is known.
  package var serverTime: Int64 { device.wallTime &+ offset.load(ordering: .relaxed) }

  /// Sets by how much the server's time is ahead of the device's, in milliseconds.
  package func set(offset milliseconds: Int64) { offset.store(milliseconds, ordering: .relaxed) }
}
