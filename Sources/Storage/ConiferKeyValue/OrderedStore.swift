/// The narrow contract under a backend: an ordered map of bytes to bytes, in a few spaces, that
/// changes by atomic batches and is read through frozen views.
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
  ///   to make room). Nothing has changed then, unless the code is `poisoned` or `io`, where
  ///   reopening tells.
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

  /// What the files take, known without a scan.
  ///
  /// - Throws: `io`, `closed`.
  func size() throws(StoreError) -> StoreSize

  /// Does a slice of housekeeping: gives space back, folds logs, clears stale readers.
  ///
  /// - Parameter slice: how long it may take, about.
  /// - Returns: whether more is left to do.
  /// - Throws: `io`, `full`, `poisoned`, `closed`, `suspended`.
  func tidy(_ slice: Duration) throws(StoreError) -> Bool

  /// Makes all commits durable and lets go of every file lock, so that the operating system may
  /// suspend the process; all calls but `resume` and `close` throw `suspended` until then.
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
  /// - Throws: `io`, `poisoned`; the files are let go of all the same.
  func close() throws(StoreError)

  /// What the store had to leave out of data that had been durable, at opening, or cannot read with
  /// all that it told of (reads throw `damaged` without a place then); empty for most stores always,
  /// and again after `acknowledgeFindings`.
  ///
  /// Nothing is removed for it: a store that is closed with findings and was not changed tells of
  /// them again, at opening or when it is read.
  var findings: [StoreFinding] { get }

  /// Takes the findings for told: the store goes on without what it could not read, and keeps those
  /// bytes aside.
  ///
  /// - Throws: `damaged` (more than was told), `io`, `full`, `poisoned`, `closed`, `suspended`.
  func acknowledgeFindings() throws(StoreError)

  /// Reads every page, block or frame that the newest commit depends on, and tells what is not as it
  /// was written; changes nothing, and commits go on meanwhile.
  ///
  /// The layer above reads every record anyway, so a store need not read values whose damage a view
  /// would tell: one that tells all damage so, or has none, finds nothing and returns true.
  ///
  /// - Parameter found: gets each finding, in no order; it should not call the store.
  /// - Returns: whether views may be read all the same: false when the store trusts what was found
  ///   damaged, so that reading it might trap or give what was never written.
  /// - Throws: `io`, `closed`, `suspended`.
  func verify(_ found: (StoreFinding) -> Void) throws(StoreError) -> Bool
}
