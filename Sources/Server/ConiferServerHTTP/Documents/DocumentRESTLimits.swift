import ConiferDocumentServer

/// What requests of the documents' REST API may have. Sizes are in bytes.
package struct DocumentRESTLimits: Sendable {
  /// A body: the JSON of the 10 MiB that a commit may have.
  package var body = 32 << 20
  /// An answer.
  package var answer = 256 << 20
  /// The writes of a commit, and the documents of a `batchGet`.
  package var writes = RequestLimits.writes
  /// The writes of a `batchWrite`, as in the service.
  package var batch = RequestLimits.batch
  /// Documents, or ids of collections, of a page; also when no size is asked for.
  package var page = RequestLimits.page

  package init() {}
}
