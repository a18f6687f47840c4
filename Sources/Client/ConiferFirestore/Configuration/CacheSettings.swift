public import Foundation

/// Where a database keeps documents and waiting writes: ``PersistentCacheSettings`` or
/// ``MemoryCacheSettings``.
public protocol LocalCacheSettings: Sendable {
  /// What that means for a configuration.
  var cache: FirestoreCache { get }
}

/// What is kept of the server's documents; a value of the client's own.
public struct FirestoreCache: Sendable, Hashable {
  let kind: FirestoreConfiguration.Cache
}

/// The cache size that sets no limit.
public let FirestoreCacheSizeUnlimited: Int64 = -1

/// Documents and waiting writes are kept in the configuration's storage.
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

/// When documents in memory are forgotten: ``MemoryEagerGCSettings`` or ``MemoryLRUGCSettings``.
public protocol MemoryGarbageCollectorSettings: Sendable {
  /// What that means for a configuration.
  var cache: FirestoreCache { get }
}

/// A document is forgotten as soon as no listener and no waiting write needs it.
public struct MemoryEagerGCSettings: MemoryGarbageCollectorSettings {
  /// What that means for a configuration.
  public let cache = FirestoreCache(kind: .memoryWhileUsed)
  /// A document is forgotten as soon as nothing needs it.
  public init() {}
}

/// The documents that were least recently used are forgotten when there are more than so many bytes.
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

/// Documents and waiting writes are kept in memory, and are gone when the process ends.
public struct MemoryCacheSettings: LocalCacheSettings {
  /// What that means for a configuration.
  public let cache: FirestoreCache

  /// A document is forgotten as soon as no listener and no waiting write needs it.
  public init() { self.init(garbageCollectorSettings: MemoryEagerGCSettings()) }

  /// Documents are forgotten as told.
  public init(garbageCollectorSettings: any MemoryGarbageCollectorSettings) {
    cache = garbageCollectorSettings.cache
  }
}
