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
    if laid.remove(overlay) != nil { raise(tree.revert(overlay)) }
    let edits = [StorageEdit.finish(lane, id.id, .superseded(by: new.id))]
    let (from, to) = (name(of: id), name(of: OutboundWriteID(lane, new.id)))
    add(edits) { [self] stored in
      switch stored {
      case .success: tell(.finished(id))
      case .failure: commitLater(edits, of: id, .superseded(by: to))
      }
      let others = followers.removeValue(forKey: from) ?? []
      // Those of what it had superseded itself come first, and were told.
      for case let receipt? in others.reversed().map(\.receipt) {
        if receipt.isEnded { break }
        receipt.settle(.superseded(by: to))
      }
      // Whether what they wrote counts is told by the end of the new one.
      let own = followers.removeValue(forKey: to) ?? []
      for follower in others + own { follow(to, follower) }
    }
  }

  /// A write as the store has it, if it was never sent.
  private func waiting(_ id: OutboundWriteID) -> QueuedWrite? {
    let write = read { (view, _) throws(StoreError) in try view.write(id.lane, id.id) }
    guard let write, let write, case .queued = write.state else { return nil }
    return write
  }

  private func name(of id: OutboundWriteID) -> WriteReceipt.ID {
    WriteReceipt.ID(identity: id.lane.identity, number: id.id.rawValue)
  }
}
