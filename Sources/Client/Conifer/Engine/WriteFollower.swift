import ConiferStorage
import ConiferSync

/// Who asked for a write, until it is queued.
struct WriteCaller {
  let receipt: WriteReceipt
  var completion: (@Sendable (DatabaseError?) -> Void)?
}

/// Who waits for the end of a queued write: a completion block, or a receipt while somebody holds it.
struct WriteFollower {
  private(set) weak var receipt: WriteReceipt?
  let completion: (@Sendable (DatabaseError?) -> Void)?

  init(_ caller: WriteCaller) {
    receipt = caller.receipt
    completion = caller.completion
  }

  /// Whether nobody is left to be told.
  var isNobody: Bool { receipt == nil && completion == nil }
}

extension WriteReceipt.ID {
  /// The name that the app has for a queued write.
  init(_ id: OutboundWriteID) { self.init(identity: id.lane.identity, number: id.id.rawValue) }
}

extension OutboundWriteID {
  /// The queued write that lies over views at a place.
  init(_ lane: Lane, _ overlay: OverlayID) {
    self.init(lane, WriteID(rawValue: overlay.number))
  }

  /// The queued write that the app names, in a database's tree.
  init(_ id: WriteReceipt.ID, in tree: TreeID) {
    self.init(Lane(tree: tree, identity: id.identity), WriteID(rawValue: id.number))
  }
}
