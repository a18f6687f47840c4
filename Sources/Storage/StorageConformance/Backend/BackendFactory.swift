public import ConiferKeyValue
public import ConiferStorage

/// A backend under test: how to open it, and what it says of itself.
public struct BackendFactory: Sendable, CustomStringConvertible {
  /// The name in reports, for example `lmdb`.
  public let name: String
  /// The facts that an open backend must state about its store, and keep.
  public let declared: StoreTraits
  /// The options under which it is tested.
  public let options: StorageOptions
  /// Whether it must be an `EvictingBackend`.
  public let evicts: Bool
  /// What an engine below the backend cannot notice of damaged files, as its documentation says:
  /// `trap`, `silentLoss`, or `lostAcknowledged` where the newest commits of a damaged log look as if
  /// they had never been made. Such outcomes are counted and pass. Never name `wrongData`.
  public let overlooks: Set<Anomaly>
  /// Whether threads of the engine's own write and sync: a failure of theirs may be told by a commit
  /// behind the next one, which is safe as long as what commits need is synced by them themselves.
  public let worksInBackground: Bool
  /// The argument of `swift test --filter` that finds the backend's tests, for the command that a
  /// failure prints; nil when it is not told.
  public let tests: String?
  /// Whether it is a backend that is tested whole under other options: of what the checks sample of
  /// crashes and faults it gets a quarter.
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
  ///   - overlooks: what the engine below cannot notice of damaged files, as documented.
  ///   - worksInBackground: whether threads of the engine's own write and sync.
  ///   - tests: the argument of `swift test --filter` that finds the backend's tests.
  ///   - open: opens a backend on the files of a directory; called many times for one directory
  ///     when the declared store is persistent.
  public init(
    name: String, declared: StoreTraits, options: StorageOptions = StorageOptions(),
    evicts: Bool = false, overlooks: Set<Anomaly> = [], worksInBackground: Bool = false,
    tests: String? = nil,
    open: @escaping @Sendable (String, StorageOptions) throws(StoreError) -> any StorageBackend
  ) {
    self.name = name
    self.declared = declared
    self.options = options
    self.evicts = evicts
    self.overlooks = overlooks
    self.worksInBackground = worksInBackground
    self.tests = tests
    self.open = open
  }

  /// The same backend under other options.
  public func with(_ options: StorageOptions) -> BackendFactory {
    let other = BackendFactory(
      name: name, declared: declared, options: options, evicts: evicts, overlooks: overlooks,
      worksInBackground: worksInBackground, tests: tests, open: open)
    return isVariant ? other.variant() : other
  }

  /// The same backend as a variant of one that is tested whole.
  public func variant() -> BackendFactory {
    var other = self
    other.isVariant = true
    return other
  }

  /// How many of a number of samples are tried on it.
  func share(of count: Int) -> Int { isVariant ? (count + 3) / 4 : count }

  /// The name with the compression.
  public var description: String { "\(name), compression \(options.compression)" }
}
