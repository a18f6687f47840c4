package import ConiferStorage
package import ConiferWire

/// A queued write's name among those of all lanes.
package struct OutboundWriteID: Hashable, Sendable, CustomStringConvertible {
  /// The queue that it stands in.
  package let lane: Lane
  /// Its number there.
  package let id: WriteID

  /// A queued write's name.
  package init(_ lane: Lane, _ id: WriteID) {
    self.lane = lane
    self.id = id
  }

  /// The number, and the identity of its lane.
  package var description: String {
    lane.identity.isEmpty ? "\(id.rawValue)" : "\(lane.identity):\(id.rawValue)"
  }
}

/// A queued write that is to be sent.
package struct OutboundWrite: Hashable, Sendable {
  /// Its name.
  package let id: OutboundWriteID
  /// What it asks the server for.
  package let content: WriteContent
  /// Whether the store holds that it was sent, or may have been.
  package internal(set) var isMarked: Bool
  /// Whether it may be applied twice.
  package let isIdempotent: Bool
  /// About how many bytes it takes on the wire.
  package let size: Int

  /// A write of a lane's queue.
  ///
  /// - Parameter isMarking: whether it is not sure yet that the store holds it as sent for good.
  package init(_ lane: Lane, _ write: QueuedWrite, isMarking: Bool = false) {
    id = OutboundWriteID(lane, write.id)
    content = write.content
    isIdempotent = QueueRules.isIdempotent(write.content)
    size = QueueRules.size(of: write.content)
    switch write.state {
    case .sent, .outcomeUnknown: isMarked = !isMarking
    case .queued, .rejected: isMarked = false
    }
  }

  /// The request that carries it.
  package var request: Request { QueueRules.request(for: content) }

  /// Its place among all that was issued.
  var place: OverlayID { OverlayID(id.id.rawValue) }
}
