public import Foundation

/// The settings of a database's cache of documents and waiting writes: ``PersistentCacheSettings``
/// or ``MemoryCacheSettings``.
public protocol LocalCacheSettings: Sendable {
  /// What that means for a configuration.
  var cache: FirestoreCache { get }
}

/// The choice of cache that cache settings amount to, as an opaque value that only the client
/// reads.
public struct FirestoreCache: Sendable, Hashable {
  let kind: FirestoreConfiguration.Cache
}

/// The cache size that sets no limit.
public let FirestoreCacheSizeUnlimited: Int64 = -1

/// Cache settings that keep documents and waiting writes in the configuration's storage.
public struct PersistentCacheSettings: LocalCacheSettings {
  /// What that means for a configuration.
  public let cache: FirestoreCache

  /// Documents are kept up to about 100 MiB.
  public init() { self.init(sizeBytes: FirestoreConfiguration.standardCacheSize) }

  /// Documents are kept up to about so many bytes.
  ///
  /// - Parameter sizeBytes: 1 MiB at least, or ``FirestoreCacheSizeUnlimited``.
  public init(sizeBytes: Int64) {
    cache = FirestoreCache(kind: .persistent(bytes: FirestoreConfiguration.limit(sizeBytes)))
  }

  /// Documents are kept up to about so many bytes.
  ///
  /// - Parameter sizeBytes: 1 MiB at least, or ``FirestoreCacheSizeUnlimited``.
  public init(sizeBytes: NSNumber) { self.init(sizeBytes: sizeBytes.int64Value) }
}

/// The settings by which documents in a memory cache are garbage-collected:
/// ``MemoryEagerGCSettings`` or ``MemoryLRUGCSettings``.
public protocol MemoryGarbageCollectorSettings: Sendable {
  /// What that means for a configuration.
  var cache: FirestoreCache { get }
}

/// Garbage collection that drops a document as soon as no listener and no waiting write needs it.
public struct MemoryEagerGCSettings: MemoryGarbageCollectorSettings {
  /// What that means for a configuration.
  public let cache = FirestoreCache(kind: .memoryWhileUsed)
  /// A document is forgotten as soon as nothing needs it.
  public init() {}
}

/// Garbage collection that drops the least recently used documents when the cache is larger than a
/// number of bytes.
public struct MemoryLRUGCSettings: MemoryGarbageCollectorSettings {
  /// What that means for a configuration.
  public let cache: FirestoreCache

  /// Documents are kept up to about 100 MiB.
  public init() { self.init(sizeBytes: FirestoreConfiguration.standardCacheSize) }

  /// Documents are kept up to about so many bytes.
  ///
  /// - Parameter sizeBytes: 1 MiB at least, or ``FirestoreCacheSizeUnlimited``.
  public init(sizeBytes: Int64) {
    cache = FirestoreCache(kind: .memory(bytes: FirestoreConfiguration.limit(sizeBytes)))
  }

  /// Documents are kept up to about so many bytes.
  ///
  /// - Parameter sizeBytes: 1 MiB at least, or ``FirestoreCacheSizeUnlimited``.
  public init(sizeBytes: NSNumber) { self.init(sizeBytes: sizeBytes.int64Value) }
}

/// Cache settings that keep documents and waiting writes in memory, where they are gone when the
/// process ends.
public struct MemoryCacheSettings: LocalCacheSettings {
  /// What that means for a configuration.
  public let cache: FirestoreCache

  /// A document is forgotten as soon as no listener and no waiting write needs it.
  public init() { self.init(garbageCollectorSettings: MemoryEagerGCSettings()) }

  /// The garbage collector decides when documents are forgotten.
  public init(garbageCollectorSettings: any MemoryGarbageCollectorSettings) {
    cache = garbageCollectorSettings.cache
  }
}
