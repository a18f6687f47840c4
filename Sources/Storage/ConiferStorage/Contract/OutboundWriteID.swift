/// The id of a queued write among those of all lanes; it stays the same over restarts.
package struct OutboundWriteID: Hashable, Sendable, CustomStringConvertible {
  /// Its queue.
  package let lane: Lane
  /// Its number there.
  package let number: WriteID

  /// The write of a lane with a number.
  package init(_ lane: Lane, _ number: WriteID) {
    self.lane = lane
    self.number = number
  }

  /// The number, and the identity of its lane.
  package var description: String {
    lane.identity.isEmpty ? "\(number.rawValue)" : "\(lane.identity):\(number.rawValue)"
  }
}
