import ConiferDocument
import ConiferWire

/// A target that a stream listens to.
struct ListenedTarget: Sendable {
  /// What a limited target showed at the last moment.
  struct Window: Sendable {
    /// The documents with their versions.
    private(set) var versions: [DocumentPath: Timestamp] = [:]
    /// The last one in the target's order; nil when there is none.
    private(set) var last: Document?

    init(_ documents: some Collection<Document>) {
      for document in documents {
        versions[document.path] = document.version
        last = document
      }
    }
  }

  let id: TargetID
  /// The query's target: what the client sent, with times that are cut to the microsecond.
  let target: DocumentTarget
  /// The query that the store is asked.
  let query: DocumentQuery
  /// What it showed; nil of a target without a limit.
  var window: Window?

  /// - Throws: `invalidArgument` for a target that no query has.
  init(_ watch: WatchTarget, in database: DatabaseID) throws(StatusError) {
    id = watch.id
    do throws(DocumentError) {
      query = try DocumentQuery(watch.target, in: database)
      target = query.target
      if let path = watch.document { try path.validate() }
    } catch { throw StatusError(invalidArgument: error) }
  }

  /// The one document that is listened to, if it is one.
  var document: DocumentPath? {
    guard case .document(let path) = target.source else { return nil }
    return path
  }

  /// Whether a document of the source is in it, the limit aside.
  func contains(_ document: Document) -> Bool { target.matchesInSource(document) }

  /// Whether a document is in the target's source, whether it matches or not.
  func concerns(_ path: DocumentPath) -> Bool { target.source.contains(path) }

  /// Whether a change may change the window.
  func mayChangeWindow(_ before: Document, _ after: Document) -> Bool {
    guard let window, let limit = target.limit else { return false }
    if window.versions[after.path] != nil { return true }
    guard contains(after) else { return false }
    guard window.versions.count >= limit, let last = window.last else { return true }
    return target.compare(after, last) <= 0
  }
}
