import ConiferDocument

// What stays in the cache whatever the budget. The Apple SDK has this for the Realtime Database alone.
extension Query {
  /// Downloads the documents and keeps them in the cache and up to date, without a listener and across
  /// restarts; or ends that.
  ///
  /// - Parameter keepSynced: whether to. A query that is invalid is logged as an error.
  public final func keepSynced(_ keepSynced: Bool) {
    firestore.keep(keepSynced, Result { () throws(FirestoreError) in try checked() })
  }
}

extension DocumentReference {
  /// Downloads the document and keeps it in the cache and up to date, without a listener and across
  /// restarts; or ends that.
  ///
  /// - Parameter keepSynced: whether to.
  public func keepSynced(_ keepSynced: Bool) { firestore.keep(keepSynced, query()) }
}

extension Firestore {
  fileprivate func keep(_ isKept: Bool, _ query: Result<DocumentQuery, FirestoreError>) {
    do throws(FirestoreError) {
      try engine().keepSynced(isKept, query.get())
    } catch {
      report(error)
    }
  }
}
