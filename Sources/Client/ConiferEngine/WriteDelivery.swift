/// How far a write has come on its way to the server.
///
/// Beside each case stand the `WriteState` that the store has and, while the write waits to be sent, its
/// `OutboundWrite.Mark`; that of an idempotent write is always `notNeeded`.
///
/// | case | state in the store | mark |
/// |---|---|---|
/// | `queued` | `queued` | `missing`, `asked`; `mayLeave` if it leaves without a stored mark |
/// | `queued`, sent before | `sent`, `outcomeUnknown` | `mayLeave` |
/// | `markStored` | `sent`, `outcomeUnknown` | `asked`; `missing` before it is asked again |
/// | `marked` | `sent`, `outcomeUnknown` | `mayLeave` |
/// | `sent(isStored: true)` | `sent`, `outcomeUnknown` | |
/// | `sent(isStored: false)` | one of those of `queued` | |
/// | `returnedUnstored` | as when it left | `missing` |
package enum WriteDelivery {
  /// It waits in the queue. If the store has it as sent or of unknown outcome, it may have left before, on another
  /// connection or in another run.
  case queued
  /// The store has it as sent, and that may not be durable yet; it has not left.
  case markStored
  /// It has not left, but may: the mark that it was sent is as durable as it can be.
  case marked
  /// It was sent, and is not answered. Either the store holds that, or it is told when the sending ends.
  case sent(isStored: Bool)
  /// The server did not look at it, and it waits again, of which the store could not be told.
  case returnedUnstored
}
