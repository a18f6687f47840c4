/// How far a write has come on its way to the server.
package enum WriteDelivery {
  /// It waits in the queue. If the store has it as sent or of unknown outcome, it may have left before, on another
  /// connection or in another run.
  case queued
  /// The store has it as sent, and that may not be durable yet; it has not left.
  case marking
  /// It has not left, but may: the mark that it was sent is as durable as it can be.
  case marked
  /// It was sent, and is not answered. Either the store holds that, or it is told when the sending ends.
  case sent(isStored: Bool)
  /// The server did not look at it, and it waits again. The store could not be told, and has it as sent.
  case returned
}
