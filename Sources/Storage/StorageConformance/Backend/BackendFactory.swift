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
  /// Whether it must offer `evict`, `explain` and `space`, and keep its budget by itself.
  public let evicts: Bool
  /// What an engine below the backend cannot notice of damaged files, as its documentation says:
  /// `trap`, `silentLoss`, or `lostAcknowledged` where the newest commits of a damaged log look as if
  /// they had never been made. Such outcomes are counted and pass. Never name `wrongData`.
  public let overlooks: Set<Anomaly>
  /// The argument of `swift test --filter` that finds the backend's tests, for the command that a
  /// failure prints; nil when it is not told.
  public let tests: String?
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
  ///   - tests: the argument of `swift test --filter` that finds the backend's tests.
  ///   - open: opens a backend on the files of a directory; called many times for one directory
  ///     when the declared store is persistent.
  public init(
    name: String, declared: StoreTraits, options: StorageOptions = StorageOptions(),
    evicts: Bool = false, overlooks: Set<Anomaly> = [], tests: String? = nil,
    open: @escaping @Sendable (String, StorageOptions) throws(StoreError) -> any StorageBackend
  ) {
    self.name = name
    self.declared = declared
    self.options = options
    self.evicts = evicts
    self.overlooks = overlooks
    self.tests = tests
    self.open = open
  }

  /// The same backend under other options.
  public func with(_ options: StorageOptions) -> BackendFactory {
    BackendFactory(
      name: name, declared: declared, options: options, evicts: evicts, overlooks: overlooks,
      tests: tests, open: open)
  }

  /// The name with the compression.
  public var description: String { "\(name), compression \(options.compression)" }
}
