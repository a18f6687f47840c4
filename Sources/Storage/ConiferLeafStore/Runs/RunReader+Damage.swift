package import ConiferKeyValue

extension RunReader {
  /// The misplaced run of two neighbours that overlap; nil when they do not overlap. Throws for a
  /// damaged run.
  package func misplaced(_ head: RunHead) throws(StoreError) -> RunHead? {
    guard try isMisplaced(head) else { return nil }
    // The next one may stand before its leaves, or behind.
    guard let next = try run(after: head.storeKey), !next.isDamaged, try isMisplaced(next) else {
      return head
    }
    return next
  }

  /// Whether a run's entries do not fit its key, or overlap the next run. Throws for a damaged run.
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
      // The beginning of a damaged run is not known.
      guard error.code == .damaged else { throw error }
      return false
    }
    guard let next, !next.isDamaged else { return false }
    return entries.compareKey(last, next.separator) >= 0
  }
}
