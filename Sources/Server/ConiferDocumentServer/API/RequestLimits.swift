import ConiferDocument

/// What one request of a front may have, whatever it speaks.
package enum RequestLimits {
  /// The writes of a commit, and the documents of a `batchGet`.
  package static let writes = DocumentLimits.writes
  /// The writes of a `batchWrite`, as in the service.
  package static let batch = 500
  /// The batches of a stream of writes that are taken in before the client has the answer to the first of them.
  package static let unanswered = 32
  /// About how many bytes these have; one batch may have more. Far less than what may wait of a stream, as a batch waits
  /// there until those that came with it are done.
  package static let unansweredBytes = 2 * DocumentLimits.requestSize
  /// Documents, or ids of collections, of a page; also when no size is asked for.
  package static let page = 300
}
