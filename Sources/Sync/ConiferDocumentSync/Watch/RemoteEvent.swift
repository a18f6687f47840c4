package import ConiferDocument
package import ConiferWire

/// What a server said until one moment, consistent in itself: the store and the views take it in as a whole.
package struct RemoteEvent: Sendable, Hashable {
  /// The moment; zero of what is not a snapshot of the server's.
  package var version: Timestamp
  /// What changed for targets.
  package var targets: [TargetID: TargetChange] = [:]
  /// The targets that are asked for anew, since the client had other documents than the server.
  package var mismatches: [TargetID: TargetPurpose] = [:]
  /// The documents that were sent, as they are now. A missing one of version zero is forgotten.
  package var documents: [DocumentPath: Document] = [:]
  /// Those of them that only limbo asked for.
  package var resolvedLimbo: Set<DocumentPath> = []
}
