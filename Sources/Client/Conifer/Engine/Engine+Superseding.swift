import ConiferKeyValue
import ConiferStorage
import ConiferSync

extension Engine {
  /// Drops the write before a new one, when that was never sent, nothing was issued between them, and
  /// the new one replaces all of it.
  ///
  /// The connection forgets it at once; the store does in the next commit.
  func supersede(by new: QueuedWrite, _ lane: Lane) {
    guard let id = link.machine?.lastUnsent, id.lane == lane, id.id < new.id,
      let old = waiting(id), QueueRules.supersedes(new.content, old.content)
    else { return }
    tell(.superseded(id))
    let overlay = OverlayID(id.id.rawValue)
    if writes.hide(id) { raise(tree.revert(overlay)) }
    let edits = [StorageEdit.finish(lane, id.id, .superseded(by: new.id))]
    let name = OutboundWriteID(lane, new.id)
    let outcome = WriteReceipt.Outcome.superseded(by: WriteReceipt.ID(name))
    add(edits) { [self] stored in
      // Whether what they wrote counts is told by the end of the new one.
      let moved = writes.handFollowers(of: id, to: name)
      end(id, outcome, nil, edits, stored)
      for follower in moved { watch(follower.receipt, name) }
      // Some may have been released meanwhile, and nobody told it.
      writes.released(name)
      // Those of what it had superseded itself come first, and were told.
      for case let receipt? in moved.reversed().map(\.receipt) {
        if receipt.isEnded { break }
        receipt.settle(outcome)
      }
    }
  }

  /// A write as the store has it, if it was never sent.
  private func waiting(_ id: OutboundWriteID) -> QueuedWrite? {
    let write = read { (view, _) throws(StoreError) in try view.write(id.lane, id.id) }
    guard let write, let write, case .queued = write.state else { return nil }
    return write
  }
}
