/// The narrow key-value contract under a backend: an ordered map of bytes to bytes, in a few
/// spaces, that changes by atomic batches and is read through frozen views.
///
/// - Crash contract: after any crash the store equals some prefix of its commits, across all
///   spaces, and holds every commit acknowledged at `.power` or covered by `harden` (after the mere
///   death of the process, also every `.process` one).
/// - A failed sync poisons the store: later commits throw `poisoned` until it is reopened.
/// - Keys are ordered as unsigned bytes; the empty key is allowed.
/// - Threads: one thread at a time calls everything but `view`, `size`, `verify` and the views
///   themselves, which any thread may call. Calls block.
public protocol OrderedStore: AnyObject, Sendable {
  /// The facts about this store; constant while it is open.
  var traits: StoreTraits { get }

  /// Applies a batch whole or not at all and returns when it is as durable as asked.
  ///
  /// - Parameters:
  ///   - batch: edits, applied in order; an empty one is a commit too.
  ///   - durability: at most `traits.strongest`.
  /// - Returns: the commit's number, greater than every earlier one since opening.
  /// - Throws: `tooLarge` (a key above `traits.longestKey`), `full`, `io`, `poisoned`, `closed`,
  ///   `suspended`, `unsupported` (durability), `busy` (a view was held open too long for the store
  ///   to make room). After `poisoned` and `io` only reopening shows whether the commit was stored;
  ///   after the others nothing has changed.
  @discardableResult
  func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID

  /// Makes every commit up to this one survive power loss, as far as `traits.strongest` goes.
  ///
  /// - Throws: `io`, `poisoned`, `closed`, `suspended`.
  func harden(_ upTo: CommitID) throws(StoreError)

  /// A frozen view of the newest commit.
  ///
  /// - Throws: `io`, `closed`, `suspended`, `full` (no reader slot left).
  func view() throws(StoreError) -> any OrderedView

  /// The sizes of the store, known without a scan.
  ///
  /// - Throws: `io`, `closed`.
  func size() throws(StoreError) -> StoreSize

  /// Does a slice of housekeeping: frees space, folds logs, clears stale readers.
  ///
  /// - Parameter slice: how long it may take, about.
  /// - Returns: whether more is left to do.
  /// - Throws: `io`, `full`, `poisoned`, `closed`, `suspended`.
  func tidy(_ slice: Duration) throws(StoreError) -> Bool

  /// Makes all commits durable and releases every file lock, so that the operating system may
  /// suspend the process. Until `resume`, all calls but `resume` and `close` throw `suspended`.
  ///
  /// - Throws: `io`, `poisoned`, `closed`.
  func suspend() throws(StoreError)

  /// Takes the locks again after `suspend`; does nothing when not suspended.
  ///
  /// - Throws: `busy` (another process has opened the store meanwhile), `io`, `closed`.
  func resume() throws(StoreError)

  /// Makes all commits durable and closes; a second call does nothing. Open views throw `closed`
  /// at their next read.
  ///
  /// - Throws: `io`, and always `poisoned` once the store is poisoned, since its commits may not be durable; the files
  ///   are released anyway.
  func close() throws(StoreError)

  /// Durable data that the store left out at opening, or that it cannot read together with the data
  /// that it refers to (reads then throw `damaged` without a place). It is always empty for most
  /// stores, and empty after `acknowledgeFindings`.
  ///
  /// Findings remove nothing: a store that is closed with findings and was not changed reports them
  /// again, at opening or when it is read.
  var findings: [StoreFinding] { get }

  /// Acknowledges the findings: the store continues without the unreadable data, and sets its bytes
  /// aside.
  ///
  /// - Throws: `damaged` (more than was reported), `io`, `full`, `poisoned`, `closed`, `suspended`.
  func acknowledgeFindings() throws(StoreError)

  /// Reads every page, block or frame that the newest commit depends on, and reports bytes that are
  /// not as they were written. It changes nothing, and commits continue meanwhile.
  ///
  /// The layer above reads every record anyway, so a store need not read values whose damage a view
  /// would report. A store whose views report all damage finds nothing and returns true.
  ///
  /// - Parameter found: gets each finding, in no order; it should not call the store.
  /// - Returns: whether views may be read all the same: false when the store trusts what was found
  ///   damaged, so that reading it might trap or give what was never written.
  /// - Throws: `io`, `closed`, `suspended`.
  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool
}
