/// A part of a store's reports of damage, so that nobody has all of them in memory at once.
public struct IncidentWindow: Hashable, Sendable {
  /// A window that has as many bytes is full, as each report may have those of a whole write.
  package static let fullAt = 1 << 20

  /// The reports, with the bytes that were set aside.
  public let incidents: [Incident]
  /// The position behind them, after which the next window begins.
  public let end: IncidentPosition
  /// Whether more reports follow; the next window may be without any all the same, when none of them is asked for.
  public let hasMore: Bool

  /// A part of the reports, the position behind it, and whether more follow.
  public init(incidents: [Incident], end: IncidentPosition, hasMore: Bool) {
    (self.incidents, self.end, self.hasMore) = (incidents, end, hasMore)
  }
}
