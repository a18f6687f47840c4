public import ConiferKeyValue
public import ConiferTree

/// The storage contract that the engine uses, with trees, tracked queries, pins and an outbound
/// queue that are changed together, atomically, and survive restarts.
///
/// - A commit takes edits of all groups and is atomic. After any crash the state equals some prefix
///   of the commits and holds every one that has returned, at its durability.
/// - The outbound queue is never evicted. Cached data may be dropped: when damaged, when told to, and
///   when the cache is over its budget.
/// - Optional abilities have protocols of their own: ``EvictingBackend``, ``VerifyingBackend``.
/// - All members may be called from any thread or task. Commits are applied in the order of their
///   calls, several of them in one flush where they meet.
/// - After `close` every member throws `closed`.
/// - The child of a fork may not use a backend that was opened before: packed backends throw
///   `invalid` there. While such a child lives it keeps the owner's lock, as it shares its open
///   files; programs that are started do not.
public protocol StorageBackend: AnyObject, Sendable {
  /// The facts about this backend; constant while it is open.
  var traits: BackendTraits { get }

  /// The tree with a name; made if there is none.
  ///
  /// - Parameters:
  ///   - name: 1 to 256 UTF-8 bytes.
  ///   - order: how the tree orders siblings.
  /// - Throws: `invalid` (the name, or the tree exists with another order), and as `commit`.
  func tree(named name: String, order: KeyOrder) async throws(StoreError) -> TreeID

  /// Applies edits whole or not at all, and returns when they are as durable as asked.
  ///
  /// - Parameters:
  ///   - edits: applied in order; each sees the earlier ones.
  ///   - durability: never weakened: a backend that cannot do it throws `unsupported`.
  /// - Throws: `invalid` (an unknown tree, query or write; a state that does not follow), `tooLarge`,
  ///   `full`, `damaged` (data of an authority that the edits build on), `newerFormat` (a queued
  ///   write), `io`, `poisoned`, `closed`, `suspended`, `unsupported`. Nothing has changed then, but that after
  ///   `io` and `poisoned` only reopening shows whether the commit was stored.
  func commit(_ edits: [StorageEdit], _ durability: Durability) async throws(StoreError)
    -> CommitReceipt

  /// Applies edits as `commit` does, and holds the calling thread until that is done; for threads that
  /// run no tasks.
  ///
  /// - Throws: as `commit`.
  func commitAndWait(_ edits: [StorageEdit], _ durability: Durability) throws(StoreError)
    -> CommitReceipt

  /// Makes every commit up to this one survive power loss, as far as the backend can.
  ///
  /// - Throws: `io`, `poisoned`, `closed`, `suspended`.
  func harden(_ upTo: CommitID) async throws(StoreError)

  /// Reads one consistent state; the closure runs on the caller's thread and should last
  /// milliseconds. It may be called again, when a damaged record was set aside or a commit came in
  /// between, so it must return its result and change nothing outside.
  ///
  /// - Throws: what the closure throws, and `io`, `closed`, `suspended`.
  func read<R>(_ body: (any StorageView) throws(StoreError) -> R) throws(StoreError) -> R

  /// Reads the cached node at a path in a moment of its own; empty when there is none.
  ///
  /// It gives what a view gives, and is cheaper where one node is all that is asked for.
  ///
  /// - Throws: `invalid` (an unknown tree), `damaged` (an authority's data, or damage that could not
  ///   be set aside), `io`, `closed`, `suspended`.
  func node(_ tree: TreeID, _ path: Path) throws(StoreError) -> Node

  /// What the files take, known without a scan.
  ///
  /// - Throws: `io`, `closed`.
  func size() throws(StoreError) -> StoreSize

  /// Notes that a tracked query is listened to, or no longer; nothing is written.
  ///
  /// An active query's data is not evicted. Both calls make the query the most recently used one;
  /// that is written along with later commits, so that a crash may set it back by at most 16 uses,
  /// and by those since the last commit. Nothing is active when a store opens. Never throws, and waits
  /// for no commit; queries that are not tracked are ignored. A backend that never evicts has nothing to
  /// note and returns true.
  ///
  /// - Returns: false when the query is being evicted at this moment and stays inactive: save it
  ///   again. Also false in the child of a fork, where nothing is recorded. After true, a query
  ///   that a new read still shows stays until it is inactive.
  @discardableResult
  func setActive(_ isActive: Bool, _ query: QueryID, in tree: TreeID) -> Bool

  /// Calls a closure each time that a report of damage is stored, also when eviction or mending met the damage,
  /// and at once for those that opening stored, or that were stored while there was no handler.
  ///
  /// - Parameter handler: called on any thread, during the backend's work: it must return at once
  ///   and must not call the backend. It replaces the previous handler; nil removes it.
  func observeIncidents(_ handler: (@Sendable () -> Void)?)

  /// Does a slice of housekeeping: folds deltas, gives space back; a backend that compresses may
  /// train a dictionary first, which takes up to about 100 ms of its own and holds up no commit.
  ///
  /// - Parameter slice: how long it may take, about.
  /// - Returns: whether more is left to do.
  /// - Throws: `io`, `full`, `poisoned`, `closed`, `suspended`.
  func tidy(_ slice: Duration) async throws(StoreError) -> Bool

  /// Makes all commits durable and lets go of every file lock until `resume()`.
  ///
  /// - Throws: `io`, `poisoned`, `closed`.
  func suspend() async throws(StoreError)

  /// Takes the locks again after `suspend()`.
  ///
  /// - Throws: `busy` (another process has opened the store meanwhile), `io`, `closed`.
  func resume() async throws(StoreError)

  /// Makes all commits durable and closes; a second call does nothing.
  ///
  /// - Throws: `io`, `poisoned`; the files are released anyway.
  func close() async throws(StoreError)
}

extension StorageBackend {
  /// Waits for a task that commits. A backend that is called on threads that run tasks must
  /// implement the requirement itself, since such a thread might wait for its own task.
  ///
  /// - Throws: as `commit`.
  public func commitAndWait(
    _ edits: [StorageEdit], _ durability: Durability
  ) throws(StoreError) -> CommitReceipt {
    let answer = Monitor<Result<CommitReceipt, StoreError>?>(nil)
    Task.detached {
      do throws(StoreError) {
        let receipt = try await self.commit(edits, durability)
        answer.change { $0 = .success(receipt) }
      } catch {
        answer.change { $0 = .failure(error) }
      }
    }
    return try answer.wait { $0 }.get()
  }

  /// Reads the node in a view.
  ///
  /// - Throws: as the requirement.
  public func node(_ tree: TreeID, _ path: Path) throws(StoreError) -> Node {
    try read { (view) throws(StoreError) in try view.node(tree, path, .all) }
  }

  /// The tree with a name in the Realtime Database's key order; made if there is none.
  ///
  /// - Throws: as `tree(named:order:)`.
  public func tree(named name: String) async throws(StoreError) -> TreeID {
    try await tree(named: name, order: .realtimeDatabase)
  }

  /// Applies edits at the backend's configured durability.
  ///
  /// - Throws: as `commit`.
  @discardableResult
  public func commit(_ edits: [StorageEdit]) async throws(StoreError) -> CommitReceipt {
    try await commit(edits, traits.durability)
  }
}

/// Facts about an open backend, such as its role, durability and budget.
public struct BackendTraits: Sendable, Equatable {
  /// The backend's name, as in URLs: `lmdb`, `sqlite`, `memory`.
  public var name: String
  /// The facts about the store under it.
  public var store: StoreTraits
  /// Whether data may be dropped and fetched again, or is the only copy.
  public var role: StoreRole
  /// How records are compressed.
  public var compression: Compression
  /// The durability of commits that name none.
  public var durability: Durability
  /// The budget of the cache, in physical bytes, or nil for none.
  public var budget: Int?
  /// Whether its values are encrypted at rest.
  public var isEncrypted: Bool
  /// The version of the format of its records.
  public var format: Int

  /// Facts about a backend.
  public init(
    name: String, store: StoreTraits, role: StoreRole, compression: Compression,
    durability: Durability, budget: Int?, isEncrypted: Bool = false,
    format: Int
  ) {
    self.name = name
    self.store = store
    self.role = role
    self.compression = compression
    self.durability = durability
    self.budget = budget
    self.isEncrypted = isEncrypted
    self.format = format
  }
}

/// Whether a store is a cache, which may drop what it cannot read, or the only copy.
public enum StoreRole: String, Sendable, CaseIterable {
  /// A copy of a server's data: a damaged range is dropped, marked incomplete and fetched again.
  case cache
  /// The only copy: a damaged range stays where it is, and reading it fails with `damaged`.
  case authority
}
