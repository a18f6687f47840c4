/// What one request of a front may have, whatever it speaks.
package enum FrontLimits {
  /// The writes of a commit, and the documents of a `batchGet`.
  package static let writes = 10_000
  /// The writes of a `batchWrite`, as in the service.
  package static let batch = 500
  /// Documents, or ids of collections, of a page; also when no size is asked for.
  package static let page = 300
}
