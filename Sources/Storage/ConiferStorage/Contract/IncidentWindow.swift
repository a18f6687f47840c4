/// A part of a store's reports of damage, so that nobody has all of them in memory at once.
public struct IncidentWindow: Hashable, Sendable {
  /// The reports, with the bytes that were set aside; fewer than were asked for when no more follow.
  public let incidents: [Incident]
  /// The position behind them, after which the next window begins.
  public let end: IncidentPosition

  /// A part of the reports, and the position behind it.
  public init(incidents: [Incident], end: IncidentPosition) {
    (self.incidents, self.end) = (incidents, end)
  }
}
