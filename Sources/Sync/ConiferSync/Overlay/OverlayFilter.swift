/// Which pending writes count.
public struct OverlayFilter {
  /// Whether hidden writes count.
  public var includesHidden = false
  /// Only writes before this one count; nil for all.
  public var end: OverlayID?
  /// Whether a write does not count.
  public var isExcluded: ((OverlayID) -> Bool)?

  /// Which pending writes count; all visible ones unless more is said.
  ///
  /// - Parameters:
  ///   - includesHidden: whether hidden writes count.
  ///   - end: only writes before this one count.
  ///   - isExcluded: whether a write does not count.
  public init(
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
  ///   - id: its place among all.
  ///   - isVisible: whether views show it.
  public func counts(_ id: OverlayID, isVisible: Bool) -> Bool {
    (isVisible || includesHidden) && end.map { id < $0 } ?? true && isExcluded?(id) != true
  }

  func counts(_ entry: PathWrites.Entry) -> Bool {
    counts(entry.id, isVisible: entry.isVisible)
  }
}
