package import ConiferDocument
package import ConiferWire

/// What a server said until one moment, consistent in itself: the store and the views take it in as a whole.
package struct RemoteEvent: Sendable, Hashable {
  /// The moment; zero of what is not a snapshot of the server's.
  package var version: Timestamp
  /// Whether the server's clock went back to this time. What was known as of later times is void.
  package var serverTimeWentBack = false
  /// What changed for targets.
  package var targets: [TargetID: TargetChange] = [:]
  /// The targets that are asked for anew, since the client had other documents than the server.
  package var mismatches: [TargetID: TargetPurpose] = [:]
  /// The documents that were sent, as they are now, each once and in the order of their paths. A missing one of version
  /// zero is forgotten.
  package var documents: [Document] = []
  /// Those of them that only limbo asked for.
  package var resolvedLimbo: Set<DocumentPath> = []
}

extension RemoteEvent {
  /// The event in parts: one for each target, in their order, and a last one for the documents
  /// that belong to no target.
  package var parts: [RemoteEvent] {
    var others = self
    var parts: [RemoteEvent] = []
    for (id, change) in targets.sorted(by: { $0.key < $1.key }) {
      var part = self
      part.targets = [id: change]
      part.mismatches = mismatches.filter { $0.key == id }
      let paths = Set(change.added + change.modified + change.removed)
      part.documents = documents.filter { paths.contains($0.path) }
      part.resolvedLimbo = resolvedLimbo.intersection(paths)
      parts.append(part)
      others.documents.removeAll { paths.contains($0.path) }
      others.resolvedLimbo.subtract(paths)
    }
    (others.targets, others.mismatches) = ([:], [:])
    return others.documents.isEmpty ? parts : parts + [others]
  }
}
