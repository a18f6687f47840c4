/// Which pending writes count.
package struct OverlayFilter {
  /// Whether hidden writes count.
  package var includesHidden = false
  /// Only writes before this one count; nil for all.
  package var end: OverlayID?
  /// Whether a write does not count.
  package var isExcluded: ((OverlayID) -> Bool)?

  /// Which pending writes count; all visible ones unless more is said.
  ///
  /// - Parameters:
  ///   - includesHidden: whether hidden writes count.
  ///   - end: only writes before this one count.
  ///   - isExcluded: whether a write does not count.
  package init(
    includesHidden: Bool = false, end: OverlayID? = nil,
    isExcluded: ((OverlayID) -> Bool)? = nil
  ) {
    self.includesHidden = includesHidden
    self.end = end
    self.isExcluded = isExcluded
  }

  /// Whether a write counts.
  ///
  /// - Parameters:
  ///   - id: its position among all.
  ///   - isVisible: whether views show it.
  package func counts(_ id: OverlayID, isVisible: Bool) -> Bool {
    (isVisible || includesHidden) && end.map { id < $0 } ?? true && isExcluded?(id) != true
  }

  func counts(_ entry: PathWrites.Entry) -> Bool {
    counts(entry.id, isVisible: entry.isVisible)
  }
}
