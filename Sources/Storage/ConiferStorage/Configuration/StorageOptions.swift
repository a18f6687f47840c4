public import ConiferKeyValue
import ConiferLeafStore

/// The compression of stored records, which is none, or zstd at a level.
public enum Compression: Hashable, Sendable, CustomStringConvertible {
  /// Not at all.
  case none
  /// With zstd at a level from 1 to 19, at which housekeeping packs; commits, which an app waits for,
  /// pack at level 1.
  case zstd(level: Int)

  /// The level of zstd where none is named.
  static let standardLevel = 5

  /// What the package was built for: zstd level 5, or nothing without the trait `Zstd`.
  public static var standard: Compression { Codec.hasZstd ? .zstd(level: standardLevel) : .none }

  /// The library that compresses, with its version; nil in a build without one.
  package static var library: String? { Codec.zstdVersion.map { "zstd \($0)" } }

  /// The level of zstd; nil for nothing.
  var level: Int? {
    switch self {
    case .none: nil
    case .zstd(let level): level
    }
  }

  /// The spelling in URLs: `none`, `zstd:5`.
  public var description: String {
    switch self {
    case .none: "none"
    case .zstd(let level): "zstd:\(level)"
    }
  }
}

/// The options that every backend takes, such as the budget, the compression and the durability.
public struct StorageOptions: Hashable, Sendable {
  /// The cache budget that holds where none is named: 10 MiB.
  public static let standardBudget = 10 * 1024 * 1024
  /// The cache budget of clients of documents where none is named: 100 MiB.
  public static let standardDocumentBudget = 100 * 1024 * 1024
  /// The smallest budget: 1 MiB.
  public static let smallestBudget = 1024 * 1024
  /// The memory for decoded data where none is named: 8 MiB.
  public static let standardDecodedCache = 8 * 1024 * 1024

  /// The budget of the cache in physical bytes, as in ``StorageSpace``, or nil for none.
  ///
  /// The queue and what is pinned or active are never evicted, and may exceed it.
  public var budget: Int?
  /// How records are compressed.
  public var compression: Compression
  /// The durability of commits that name none; a store that cannot do it is not opened.
  public var durability: DurabilityChoice
  /// Whether data may be dropped and fetched again, or is the only copy.
  public var role: StoreRole
  /// About how many bytes of memory keep decoded data, so that it is read again without decoding; 0
  /// for none.
  public var decodedCache: Int
  /// What encrypts all values at rest, such as `StoreEncryption`, or nil.
  public var encryption: (any StoreLayer)?
  /// About how long a slice of an eviction holds the commits that come meanwhile; tests make it short.
  package var evictionSlice = Duration.milliseconds(3)
  /// The fewest bytes of a tree's newly packed data for which a dictionary is tried; tests make it few.
  package var leastTraining = DictionaryTrainer.leastNew
  /// Where the mark of how far the store was synced lies; nil for none. A `StorageConfiguration` says it
  /// when it opens.
  package var markDirectory: String?

  /// The options that every backend takes.
  ///
  /// - Parameters:
  ///   - budget: bytes, at least 1 MiB, or nil for no limit.
  ///   - compression: how records are compressed.
  ///   - durability: of commits that name none; the strongest that the store can do unless told.
  ///   - role: whether data may be dropped and fetched again.
  ///   - decodedCache: bytes of memory for decoded data; 0 or less keeps none.
  ///   - encryption: what encrypts all values at rest; always given for a store, or never.
  public init(
    budget: Int? = StorageOptions.standardBudget, compression: Compression = .standard,
    durability: DurabilityChoice = .strongest, role: StoreRole = .cache,
    decodedCache: Int = StorageOptions.standardDecodedCache, encryption: (any StoreLayer)? = nil
  ) {
    self.budget = budget
    self.compression = compression
    self.durability = durability
    self.role = role
    self.decodedCache = decodedCache
    self.encryption = encryption
  }

  /// Whether two options are the same; encryption is when it is the same object.
  public static func == (a: StorageOptions, b: StorageOptions) -> Bool {
    a.budget == b.budget && a.compression == b.compression && a.durability == b.durability
      && a.role == b.role && a.decodedCache == b.decodedCache && a.encryption === b.encryption
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(budget)
    hasher.combine(compression)
    hasher.combine(durability)
    hasher.combine(role)
    hasher.combine(decodedCache)
    hasher.combine(encryption.map { ObjectIdentifier($0) })
  }
}
