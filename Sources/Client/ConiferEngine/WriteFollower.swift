package import ConiferKeyValue
package import ConiferStorage

/// The receipt and completion block of a write's caller, until the write is queued.
package struct WriteCaller {
  package let receipt: WriteReceipt
  package let completion: (@Sendable (DatabaseError?) -> Void)?

  package init(receipt: WriteReceipt, completion: (@Sendable (DatabaseError?) -> Void)? = nil) {
    self.receipt = receipt
    self.completion = completion
  }
}

/// A completion block, or a receipt while somebody holds it, that waits for the end of a queued write.
package struct WriteFollower {
  package private(set) weak var receipt: WriteReceipt?
  package let completion: (@Sendable (DatabaseError?) -> Void)?

  package init(_ caller: WriteCaller) {
    receipt = caller.receipt
    completion = caller.completion
  }

  /// Whether nobody is left to be told.
  package var isNobody: Bool { receipt == nil && completion == nil }
}

extension WriteReceipt.ID {
  /// The id of a queued write as the app has it, without its tree.
  package init(_ id: OutboundWriteID) {
    self.init(identity: id.lane.identity, number: id.number.rawValue)
  }
}

extension OutboundWriteID {
  /// The id of a queued write in a database's tree, of which the app has the id.
  package init(_ id: WriteReceipt.ID, in tree: TreeID) {
    self.init(Lane(tree: tree, identity: id.identity), WriteID(rawValue: id.number))
  }
}

extension WriteReceipt.Outcome {
  /// How a write ended that the store remembers.
  package init(_ outcome: WriteOutcome, _ lane: Lane) {
    switch outcome {
    case .acknowledged: self = .acknowledged
    case .discarded: self = .discarded
    case .superseded(let by): self = .superseded(by: WriteReceipt.ID(OutboundWriteID(lane, by)))
    }
  }
}
