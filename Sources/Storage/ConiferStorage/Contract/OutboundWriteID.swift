/// Identifies a queued write among those of all lanes.
package struct OutboundWriteID: Hashable, Sendable, CustomStringConvertible {
  /// Its queue.
  package let lane: Lane
  /// Its number there.
  package let id: WriteID

  /// The write of a lane with a number.
  package init(_ lane: Lane, _ id: WriteID) {
    self.lane = lane
    self.id = id
  }

  /// The number, and the identity of its lane.
  package var description: String {
    lane.identity.isEmpty ? "\(id.rawValue)" : "\(lane.identity):\(id.rawValue)"
  }
}
