public import ConiferKeyValue
public import ConiferTree

/// A storage backend that keeps its cache within the budget by itself, in slices between commits.
public protocol EvictingBackend: StorageBackend {
  /// The physical bytes that the store takes, by what they hold; reads the heads of the runs that
  /// pins cover.
  ///
  /// - Throws: `io`, `closed`, `suspended`.
  func space() throws(StoreError) -> StorageSpace

  /// The bytes of the medium that the cache takes, ``StorageSpace/cache``, known without a scan.
  ///
  /// - Throws: `io`, `closed`, `suspended`.
  func cacheSize() throws(StoreError) -> Int

  /// Evicts cached data: what no tracked query covers, then the least recently used queries that are
  /// neither active nor pinned, with what only they cover, until the cache takes no more than asked.
  ///
  /// A backend with a budget does so by itself, in slices between commits, down to 90 % of it, and
  /// when more than 1,000 inactive queries are tracked. The order follows the Realtime Database's
  /// SDKs, whose unit is the tracked query too.
  ///
  /// - Parameters:
  ///   - bytes: physical bytes of the cache, as in ``StorageSpace``; nil for 90 % of the budget.
  ///   - dryRun: whether to change nothing and only tell what would go, supposing that the store's
  ///     overhead shrinks with its records.
  /// - Throws: `invalid` (a negative size; nil for a store without a budget; an authority, which
  ///   never evicts), `full`, `io`, `poisoned`, `closed`, `suspended`. What was evicted until then
  ///   stays so.
  func evict(to bytes: Int?, dryRun: Bool) async throws(StoreError) -> EvictionReport

  /// Tells what the cached data at and below a path takes, why it is kept, and when it would go.
  ///
  /// - Throws: `invalid` (an unknown tree), `io`, `damaged`, `closed`, `suspended`.
  func explain(_ tree: TreeID, _ path: Path) throws(StoreError) -> SpaceExplanation
}

extension EvictingBackend {
  /// That of `space()`.
  ///
  /// - Throws: as `space()`.
  public func cacheSize() throws(StoreError) -> Int { try space().cache }
}

extension StorageBackend {
  /// This backend as one that evicts.
  ///
  /// - Throws: `unsupported` when it does not.
  public func evicting() throws(StoreError) -> any EvictingBackend {
    guard let evicting = self as? any EvictingBackend else {
      throw StoreError(
        .unsupported,
        "The backend \(traits.name) does not evict by itself: remove cached data with a prune, or choose "
          + "another backend.")
    }
    return evicting
  }
}
