public import ConiferKeyValue
public import ConiferStorage

/// The description of a backend under test: how to open it, and what its author declares about it.
public struct BackendFactory: Sendable, CustomStringConvertible {
  /// The name in reports, for example `lmdb`.
  public let name: String
  /// The facts that an open backend must state about its store, and keep.
  public let declared: StoreTraits
  /// The options under which it is tested.
  public let options: StorageOptions
  /// Whether it must be an `EvictingBackend`.
  public let evicts: Bool
  /// Whether it must be a `DocumentBackend`.
  public let keepsDocuments: Bool
  /// Whether it must be a `VerifyingBackend`. Then the checks verify the store after what they did.
  public let verifies: Bool
  /// The kinds of damage that the engine below the backend cannot notice, as its documentation
  /// says: `trap`, `silentLoss`, or `lostAcknowledged` where the newest commits of a damaged log
  /// look as if they had never been made. Where bits were flipped such outcomes are counted and pass,
  /// and the promise is kept in part. `wrongData` must not be in the set.
  public let overlooks: Set<Anomaly>
  /// Whether threads of the engine's own write and sync. A failure of theirs may be reported by a
  /// commit after the next one, which is safe as long as each commit syncs what it needs itself.
  public let worksInBackground: Bool
  /// The argument of `swift test --filter` that finds the backend's tests, for the command that a
  /// failure prints; nil when it is unknown.
  public let tests: String?
  /// Whether this backend is also tested completely under other options. Then it gets a quarter of
  /// the sampled crashes and faults, and a tenth of the kills and the damage.
  public private(set) var isVariant = false
  /// Opens a backend on the files of a directory that exists; makes them when there are none.
  public let open:
    @Sendable (_ directory: String, _ options: StorageOptions) throws(StoreError) ->
      any StorageBackend

  /// A backend under test.
  ///
  /// - Parameters:
  ///   - name: the name in reports.
  ///   - declared: the facts that an open backend must state about its store.
  ///   - options: the options under which it is tested.
  ///   - evicts: whether it must keep its budget by itself.
  ///   - keepsDocuments: whether it must keep documents, as every packed backend does.
  ///   - verifies: whether it must check its whole store, as every packed backend does.
  ///   - overlooks: the kinds of damage that the engine below cannot notice, as documented.
  ///   - worksInBackground: whether threads of the engine's own write and sync.
  ///   - tests: the argument of `swift test --filter` that finds the backend's tests.
  ///   - open: opens a backend on the files of a directory; called many times for one directory
  ///     when the declared store is persistent.
  public init(
    name: String, declared: StoreTraits, options: StorageOptions = StorageOptions(),
    evicts: Bool = false, keepsDocuments: Bool = false, verifies: Bool = false,
    overlooks: Set<Anomaly> = [], worksInBackground: Bool = false, tests: String? = nil,
    open: @escaping @Sendable (String, StorageOptions) throws(StoreError) -> any StorageBackend
  ) {
    self.name = name
    self.declared = declared
    self.options = options
    self.evicts = evicts
    self.keepsDocuments = keepsDocuments
    self.verifies = verifies
    self.overlooks = overlooks
    self.worksInBackground = worksInBackground
    self.tests = tests
    self.open = open
  }

  /// The same backend under other options.
  public func with(_ options: StorageOptions) -> BackendFactory {
    let other = BackendFactory(
      name: name, declared: declared, options: options, evicts: evicts,
      keepsDocuments: keepsDocuments, verifies: verifies, overlooks: overlooks,
      worksInBackground: worksInBackground, tests: tests, open: open)
    return isVariant ? other.variant() : other
  }

  /// The same backend as a variant of one that is tested completely.
  public func variant() -> BackendFactory {
    var other = self
    other.isVariant = true
    return other
  }

  /// How many of a number of samples this backend gets.
  func share(of count: Int) -> Int { isVariant ? (count + 3) / 4 : count }

  /// The name with the compression.
  public var description: String { "\(name), compression \(options.compression)" }
}
