package import ConiferKeyValue
package import ConiferQuery

/// The stored server data of earlier listens, for new views.
package protocol ServerCache: AnyObject {
  /// What is stored for a target.
  ///
  /// - Throws: as reads of the store do.
  func cached(_ target: QueryTarget) throws(StoreError) -> CachedNode
}
