public import ConiferStorage
public import ConiferWire

/// A queued write's name among those of all lanes.
public struct OutboundWriteID: Hashable, Sendable, CustomStringConvertible {
  /// The queue that it stands in.
  public let lane: Lane
  /// Its number there.
  public let id: WriteID

  /// A queued write's name.
  public init(_ lane: Lane, _ id: WriteID) {
    self.lane = lane
    self.id = id
  }

  /// The number, and the identity of its lane.
  public var description: String {
    lane.identity.isEmpty ? "\(id.rawValue)" : "\(lane.identity):\(id.rawValue)"
  }
}

/// A queued write that is to be sent.
public struct OutboundWrite: Hashable, Sendable {
  /// Its name.
  public let id: OutboundWriteID
  /// What it asks the server for.
  public let content: WriteContent
  /// Whether the store holds that it was sent, or may have been.
  public internal(set) var isMarked: Bool
  /// Whether it may be applied twice.
  public let isIdempotent: Bool
  /// About how many bytes it takes on the wire.
  public let size: Int

  /// A write of a lane's queue.
  ///
  /// - Parameter isMarking: whether it is not sure yet that the store holds it as sent for good.
  public init(_ lane: Lane, _ write: QueuedWrite, isMarking: Bool = false) {
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
  public var request: Request { QueueRules.request(for: content) }

  /// Its place among all that was issued.
  var place: OverlayID { OverlayID(id.id.rawValue) }
}
