public import ConiferKeyValue

/// The description of a kind of store under test: how to open one, and what its author declares
/// about it.
public struct StoreFactory: Sendable {
  /// The kind's name, for reports.
  public var name: String
  /// The traits that every store made here must have; they also select the checks.
  public var declared: StoreTraits
  /// Whether a second opener of one directory is refused with `busy`.
  public var isExclusive: Bool
  /// The name, inside the directory, of the text file that holds the kind of the store and the owner's
  /// process id, as `OwnerLock` writes it; nil when there is none, which leaves out the checks of stale
  /// locks, of another kind's directory and of lost files.
  public var ownerFile: String?
  /// Whether threads of the engine's own write and sync. A failure of theirs may be reported by a
  /// commit after the next one.
  public var worksInBackground: Bool
  /// The kinds of damage that the store cannot notice, as its documentation says: `silentLoss` where a key was changed
  /// in its files. Such damage passes, and the promise is kept in part; a kind that no damage shows fails.
  public var overlooks: Set<Anomaly>
  /// The argument of `swift test --filter` that finds the store's tests, for the command that a
  /// failure prints; nil when it is unknown.
  public var tests: String?
  /// Opens the store in a directory, making it when the directory is empty.
  public var open: @Sendable (_ directory: String) throws(StoreError) -> any OrderedStore

  /// A factory.
  ///
  /// - Parameters:
  ///   - name: of the kind of store, for reports.
  ///   - declared: the traits that its stores must have.
  ///   - isExclusive: whether a second opener is refused; by default whether the store is persistent.
  ///   - ownerFile: the name of the file that `OwnerLock` writes, if there is one.
  ///   - worksInBackground: whether threads of the engine's own write and sync.
  ///   - overlooks: the kinds of damage that the store cannot notice, as documented.
  ///   - tests: the argument of `swift test --filter` that finds the store's tests.
  ///   - open: opens the store in a directory, making it when the directory is empty. A store that
  ///     keeps no files ignores the directory.
  public init(
    name: String, declared: StoreTraits, isExclusive: Bool? = nil, ownerFile: String? = nil,
    worksInBackground: Bool = false, overlooks: Set<Anomaly> = [], tests: String? = nil,
    open: @escaping @Sendable (_ directory: String) throws(StoreError) -> any OrderedStore
  ) {
    self.name = name
    self.declared = declared
    self.isExclusive = isExclusive ?? declared.isPersistent
    self.ownerFile = ownerFile
    self.worksInBackground = worksInBackground
    self.overlooks = overlooks
    self.tests = tests
    self.open = open
  }
}
