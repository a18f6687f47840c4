package import ConiferStorage

/// A queued write that is to be sent.
package struct OutboundWrite: Hashable, Sendable {
  /// Its identity.
  package let id: OutboundWriteID
  /// What it asks the server for.
  package let content: WriteContent
  /// Whether the store holds that it was sent, or may have been.
  package internal(set) var isMarked: Bool
  /// Whether applying it twice has the same effect as once.
  package let isIdempotent: Bool
  /// About how many bytes it takes on the wire.
  package let size: Int

  /// A write of a lane's queue.
  ///
  /// - Parameter isMarking: whether the store may not hold durably yet that it was sent.
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

  /// Its place in the order of all that was issued.
  var place: OverlayID { OverlayID(id.id.rawValue) }
}
