public import ConiferDocument

/// The server's time at which the stored matches of a tracked query were complete, so that the
/// query can be answered from them.
public struct MatchesVersion: Hashable, Sendable {
  /// Where the query looks for documents: a collection or a group.
  public let source: DocumentQuery.Source
  /// The server's time: each stored document that was read by then and belongs to the query's
  /// result is among the matches.
  public let time: Timestamp

  /// The time as of which matches of a source are complete.
  public init(_ source: DocumentQuery.Source, at time: Timestamp) {
    self.source = source
    self.time = time
  }
}
