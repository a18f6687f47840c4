/// Which pending writes count.
package struct OverlayFilter {
  /// Whether hidden writes count.
  package var includesHidden = false
  /// Only writes before this one count; nil for all.
  package var end: LanePosition?
  /// Whether a write does not count.
  package var isExcluded: ((LanePosition) -> Bool)?

  /// Which pending writes count; all visible ones unless more is said.
  ///
  /// - Parameters:
  ///   - includesHidden: whether hidden writes count.
  ///   - end: only writes before this one count.
  ///   - isExcluded: whether a write does not count.
  package init(
    includesHidden: Bool = false, end: LanePosition? = nil,
    isExcluded: ((LanePosition) -> Bool)? = nil
  ) {
    self.includesHidden = includesHidden
    self.end = end
    self.isExcluded = isExcluded
  }

  /// Whether a write counts.
  ///
  /// - Parameters:
  ///   - position: its position among all.
  ///   - isVisible: whether views show it.
  package func counts(_ position: LanePosition, isVisible: Bool) -> Bool {
    (isVisible || includesHidden) && end.map { position < $0 } ?? true
      && isExcluded?(position) != true
  }

  func counts(_ entry: PathWrites.Entry) -> Bool {
    counts(entry.position, isVisible: entry.isVisible)
  }
}
