public import Dispatch

/// A database's settings by the names of the Apple SDK, read from and assigned to
/// ``Firestore/settings``.
///
/// Each read of ``Firestore/settings`` gives a copy, which takes effect when it is assigned.
public final class FirestoreSettings {
  /// Which properties set where documents are kept.
  private enum Cache {
    /// By the two older properties.
    case legacy(isPersistent: Bool, bytes: Int64)
    case settings(any LocalCacheSettings)
    /// By both, which is invalid.
    case contradiction
  }

  /// The server's host, with its port if it is not the usual one.
  public var host: String
  /// Whether connections to the host are encrypted.
  public var isSSLEnabled: Bool
  /// The queue on which the app's blocks run, one after the other.
  public var dispatchQueue: DispatchQueue {
    get { chosenQueue ?? standardQueue }
    set { chosenQueue = newValue }
  }
  private var chosenQueue: DispatchQueue?
  private let standardQueue: DispatchQueue
  private var cache: Cache

  /// The host that is named where none is set.
  static let standardHost = "firestore.googleapis.com"

  /// The settings that hold where nothing is set: documents are kept, up to about 100 MiB.
  public convenience init() {
    self.init(FirestoreConfiguration(projectID: "unset"))
  }

  init(_ configuration: FirestoreConfiguration) {
    host = configuration.host ?? Self.standardHost
    isSSLEnabled = configuration.isSecure
    standardQueue = configuration.callbackQueue.queue
    cache =
      switch configuration.cache {
      case .persistent(let bytes): .legacy(isPersistent: true, bytes: Self.bytes(bytes))
      case .memory(let bytes): .legacy(isPersistent: false, bytes: Self.bytes(bytes))
      case .memoryWhileUsed: .settings(MemoryCacheSettings())
      }
  }

  private static func bytes(_ limit: Int?) -> Int64 {
    limit.map(Int64.init) ?? FirestoreCacheSizeUnlimited
  }

  /// Where documents are kept: ``PersistentCacheSettings`` or ``MemoryCacheSettings``.
  public var cacheSettings: any LocalCacheSettings {
    get {
      switch cache {
      case .settings(let settings): settings
      case .legacy(let isPersistent, let bytes):
        isPersistent
          ? PersistentCacheSettings(sizeBytes: bytes)
          : MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings(sizeBytes: bytes))
      case .contradiction: PersistentCacheSettings()
      }
    }
    set { cache = isLegacyChanged ? .contradiction : .settings(newValue) }
  }

  /// Whether documents and writes that wait are kept when the process ends; the older form of
  /// ``cacheSettings``, and not to be used beside it.
  public var isPersistenceEnabled: Bool {
    get {
      switch cache {
      case .legacy(let isPersistent, _): isPersistent
      case .settings(let settings):
        if case .persistent = settings.cache.kind { true } else { false }
      case .contradiction: true
      }
    }
    set { changeLegacy(isPersistent: newValue, bytes: cacheSizeBytes) }
  }

  /// About how many bytes of documents are kept: 1 MiB at least, or ``FirestoreCacheSizeUnlimited``; the
  /// older form of ``cacheSettings``, and not to be used beside it.
  public var cacheSizeBytes: Int64 {
    get {
      switch cache {
      case .legacy(_, let bytes): bytes
      case .settings(let settings): settings.cache.bytes
      case .contradiction: FirestoreConfiguration.standardCacheSize
      }
    }
    set { changeLegacy(isPersistent: isPersistenceEnabled, bytes: newValue) }
  }

  private var isLegacyChanged = false

  private func changeLegacy(isPersistent: Bool, bytes: Int64) {
    guard case .legacy = cache else {
      cache = .contradiction
      return
    }
    isLegacyChanged = true
    cache = .legacy(isPersistent: isPersistent, bytes: bytes)
  }

  /// Applies the settings to a configuration.
  ///
  /// - Throws: `invalidArgument` when both forms of the cache's settings were used.
  func apply(to configuration: inout FirestoreConfiguration) throws(FirestoreError) {
    if case .contradiction = cache {
      throw FirestoreError(
        .invalidArgument,
        "cacheSettings was set beside isPersistenceEnabled or cacheSizeBytes. Use cacheSettings "
          + "alone.")
    }
    configuration.cache = cacheSettings.cache.kind
    if host != configuration.host ?? Self.standardHost { configuration.host = host }
    configuration.isSecure = isSSLEnabled
    if let chosenQueue { configuration.callbackQueue = .queue(chosenQueue) }
  }
}

extension FirestoreCache {
  /// The limit as the settings have it.
  fileprivate var bytes: Int64 {
    switch kind {
    case .persistent(let limit), .memory(let limit):
      limit.map(Int64.init) ?? FirestoreCacheSizeUnlimited
    case .memoryWhileUsed: FirestoreCacheSizeUnlimited
    }
  }
}
