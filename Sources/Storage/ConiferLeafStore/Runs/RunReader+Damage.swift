package import ConiferKeyValue

extension RunReader {
  /// The run that is out of place where a run and the next one overlap, or nil where they do not; a damaged
  /// one throws.
  package func misplaced(_ head: RunHead) throws(StoreError) -> RunHead? {
    guard try isMisplaced(head) else { return nil }
    // The next one may stand before its leaves, or behind.
    guard let next = try run(after: head.storeKey), !next.isDamaged, try isMisplaced(next) else {
      return head
    }
    return next
  }

  /// Whether a run stands under a key that its entries do not fit, or has entries that belong to the
  /// next one; a damaged one throws.
  package func isMisplaced(_ head: RunHead) throws(StoreError) -> Bool {
    let own = head.storeKey.dropFirst(4)
    if head.isCut, !head.separator.starts(with: own.prefix(cutLength)) { return true }
    let entries = try merged(head)
    guard let first = entries.indices.first, let last = entries.indices.last else { return false }
    if entries.compareKey(first, head.separator) < 0 { return true }
    let next: RunHead?
    do throws(StoreError) {
      next = try run(after: head.storeKey)
    } catch {
      // Where a damaged one begins is not known.
      guard error.code == .damaged else { throw error }
      return false
    }
    guard let next, !next.isDamaged else { return false }
    return entries.compareKey(last, next.separator) >= 0
  }
}
