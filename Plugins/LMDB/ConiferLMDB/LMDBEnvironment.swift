internal import CLMDB
internal import ConiferKeyValue
internal import ConiferStorage
internal import Synchronization

/// An open LMDB environment, of the store's owner with the lock, or of a reader beside it. Its gate keeps
/// views apart from resizing and closing the map.
final class LMDBEnvironment: @unchecked Sendable {
  // Unchecked: LMDB's handle is safe to share (views begin under `gate`, one thread writes), and
  // the rest is constant or inside `gate`.

  private struct Gate {
    var readers: [ObjectIdentifier: LMDBReader] = [:]
    var mapSize: Int
    /// A commit must resize the map: new views wait.
    var isHeldBack = false
    /// No new views; the last reader to end closes the environment.
    var isRetired = false
    var isShut = false
    /// The map was lost in a failed resize.
    var isBroken = false
    /// The handle for views after LMDB refused further use of the first one.
    var spare: OpaquePointer?
  }

  let path: String
  let pageSize: Int
  /// The one unnamed tree.
  let tree: MDB_dbi
  let handle: OpaquePointer
  /// The owner's lock; nil for a reader.
  private let owner: OwnerLock?
  /// What tells others in this process that it is open here.
  private let claim: ProcessClaim
  private let gate: Mutex<Gate>

  /// Takes over an open handle and the lock.
  init(
    path: String, handle: OpaquePointer, tree: MDB_dbi, owner: OwnerLock?, claim: ProcessClaim,
    mapSize: Int
  ) {
    var stat = MDB_stat()
    mdb_env_stat(handle, &stat)
    self.path = path
    self.handle = handle
    self.tree = tree
    self.owner = owner
    self.claim = claim
    pageSize = Int(stat.ms_psize)
    gate = Mutex(Gate(mapSize: mapSize))
  }

  /// Claims the data file of a store, which a process may open only once: LMDB's locks belong to the process, and
  /// closing the file a second time would release those of the first.
  ///
  /// - Parameter isOwner: whether it is for the store's owner, for whom a reader of this process lets go.
  /// - Throws: `busy` when this process has it open.
  static func claim(_ path: String, isOwner: Bool) throws(StoreError) -> ProcessClaim {
    let name = path + "/data.mdb"
    let start = ContinuousClock.now
    repeat {
      if let claim = ProcessClaim(name) { return claim }
      guard isOwner else { break }
      ProcessClaim.askFor(name)
      if let claim = ProcessClaim(name) { return claim }
      // A reader that is just being opened lets go when it is asked again.
      System.pause()
    } while ContinuousClock.now - start < patience
    throw StoreError(
      .busy,
      isOwner
        ? "A reader in this process holds a view of \(path): end that, then open the store again."
        : "This process has \(path) open: close the other reader, or keep one for the whole process."
    )
  }

  /// How long the owner waits for reads of its process that are under way when it opens the store.
  static let patience = Duration.seconds(5)

  /// Whether its views have ended for good.
  var isRetired: Bool { gate.withLock { $0.isRetired } }

  /// The facts about a store in it.
  var traits: StoreTraits {
    StoreTraits(
      longestKey: 510, bestValueSize: pageSize - 16, writeQuantum: 4 * pageSize,
      strongest: System.strongest, isPersistent: true)
  }

  deinit {
    gate.withLock { gate in
      if !gate.isShut { shut(&gate) }
    }
  }

  /// Begins a read transaction on the newest commit.
  ///
  /// - Throws: `closed`, `full` (no slot left), `io`; for a reader also `busy` (the owner's map has grown, and a
  ///   view that is held open keeps this one from growing).
  func read() throws(StoreError) -> LMDBReader {
    let start = ContinuousClock.now
    while true {
      let found = try gate.withLock { gate throws(StoreError) -> LMDBReader? in
        if gate.isRetired { throw .lmdbClosed(path) }
        if gate.isBroken { throw brokenMap }
        if gate.isHeldBack { return nil }
        var transaction: OpaquePointer?
        var result = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
        if result == MDB_READERS_FULL {
          var stale: Int32 = 0
          mdb_reader_check(handle, &stale)
          if stale > 0 {
            result = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
          }
        }
        if result == MDB_MAP_RESIZED {
          guard gate.readers.isEmpty else {
            guard ContinuousClock.now - start < Self.mapPatience else {
              throw StoreError(
                .busy,
                "The owner of \(path) has enlarged its map, and a view is held open here. Close views within "
                  + "milliseconds.")
            }
            return nil
          }
          // Zero stands for the size that the owner has stored.
          result = mdb_env_set_mapsize(handle, 0)
          gate.isBroken = result != 0
          if result == 0 {
            result = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
          }
          // It has grown once more.
          if result == MDB_MAP_RESIZED { return nil }
        }
        if result == MDB_PANIC {
          result = mdb_txn_begin(try spare(&gate), nil, UInt32(MDB_RDONLY), &transaction)
        }
        guard result == 0, let transaction else { throw .lmdb(result, "read", path) }
        let reader = LMDBReader(environment: self, transaction: transaction)
        gate.readers[ObjectIdentifier(reader)] = reader
        return reader
      }
      if let found { return found }
      System.pause()
    }
  }

  /// How long a reader waits for its own views when the owner's map has grown.
  private static let mapPatience = Duration.seconds(5)

  /// A second, read-only handle of the environment. After a failed write of a meta page LMDB
  /// refuses reads through the first handle too.
  ///
  /// It is opened without LMDB's locks, because a process must not open the lock file twice. That
  /// is safe: nothing writes any more, so no page that it reads is reused.
  private func spare(_ gate: inout Gate) throws(StoreError) -> OpaquePointer {
    if let spare = gate.spare { return spare }
    var made: OpaquePointer?
    var result = mdb_env_create(&made)
    guard result == 0, let spare = made else { throw .lmdb(result, "read", path) }
    result = mdb_env_set_mapsize(spare, gate.mapSize)
    if result == 0 {
      result = mdb_env_open(spare, path, UInt32(MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS), 0o600)
    }
    do throws(StoreError) {
      guard result == 0 else { throw .lmdb(result, "read", path) }
      guard try LMDBFormat.check(spare, path) == tree else {
        throw .lmdb(MDB_INVALID, "read", path)
      }
    } catch {
      mdb_env_close(spare)
      throw error
    }
    gate.spare = spare
    return spare
  }

  /// Ends a reader's transaction; called once for each reader, by the last thread that uses it.
  func end(_ reader: LMDBReader, _ transaction: OpaquePointer) {
    gate.withLock { gate in
      mdb_txn_abort(transaction)
      gate.readers[ObjectIdentifier(reader)] = nil
      shutIfDrained(&gate)
    }
  }

  /// Ends all views, waits for reads in progress, and closes the environment.
  ///
  /// - Parameter patience: how long to wait. After that the last view to end closes the
  ///   environment.
  /// - Returns: whether it is closed now.
  func retire(_ patience: Duration) -> Bool {
    let readers = gate.withLock { gate in
      gate.isRetired = true
      return Array(gate.readers.values)
    }
    for reader in readers { reader.close() }
    let start = ContinuousClock.now
    while true {
      let isShut = gate.withLock { gate in
        shutIfDrained(&gate)
        return gate.isShut
      }
      if isShut { return true }
      if ContinuousClock.now - start > patience { return false }
      System.pause()
    }
  }

  private func shutIfDrained(_ gate: inout Gate) {
    guard gate.isRetired, !gate.isShut, gate.readers.isEmpty else { return }
    shut(&gate)
  }

  private func shut(_ gate: inout Gate) {
    gate.isShut = true
    if let spare = gate.spare { mdb_env_close(spare) }
    mdb_env_close(handle)
    claim.release()
    owner?.release()
  }

  /// The map's size and how many of its bytes no page has used yet.
  var map: (size: Int, unused: Int) {
    var info = MDB_envinfo()
    mdb_env_info(handle, &info)
    let size = Int(info.me_mapsize)
    return (size, size - (Int(info.me_last_pgno) + 1) * pageSize)
  }

  /// The end of the last page of the newest commit, in bytes.
  var end: Int {
    let map = map
    return map.size - map.unused
  }

  /// Makes the map larger once no view is open; only between transactions of the writing thread.
  ///
  /// - Parameters:
  ///   - size: the new size in bytes.
  ///   - patience: how long to wait for views; zero tries once.
  /// - Returns: whether it grew; false when a view stayed open.
  /// - Throws: `io`.
  func growMap(to size: Int, _ patience: Duration) throws(StoreError) -> Bool {
    let start = ContinuousClock.now
    // The pages that a killed reader pins may do instead next time.
    clearDeadReaders()
    defer { gate.withLock { $0.isHeldBack = false } }
    while true {
      let waited = ContinuousClock.now - start
      let isDone = try gate.withLock { gate throws(StoreError) -> Bool in
        if gate.isBroken { throw brokenMap }
        // Views that always overlap must not starve a commit: after a while new views wait.
        gate.isHeldBack = waited > .milliseconds(50) && waited < patience
        guard gate.readers.isEmpty else { return false }
        let result = mdb_env_set_mapsize(handle, size)
        if result == 0 {
          gate.mapSize = size
          return true
        }
        // The old map is gone by now; without one every read would trap.
        gate.isBroken = mdb_env_set_mapsize(handle, gate.mapSize) != 0
        throw .lmdb(result, "grow the map of", path)
      }
      if isDone { return true }
      if waited >= patience { return false }
      System.pause()
    }
  }

  /// Clears the slots of readers whose process died, so that the pages that they pin are used again.
  ///
  /// - Returns: 0, or LMDB's code.
  @discardableResult
  func clearDeadReaders() -> Int32 {
    var stale: Int32 = 0
    return mdb_reader_check(handle, &stale)
  }

  /// Whether the environment has lost its map, so that no transaction may begin.
  var isBroken: Bool { gate.withLock { $0.isBroken } }

  private var brokenMap: StoreError {
    StoreError(
      .io,
      "The map of \(path) could not be restored after a failed growth. Close the store and open "
        + "it again with a smaller LMDBOptions.growthFactor.")
  }
}

extension StoreError {
  /// The refusal of a closed store or view.
  static func lmdbClosed(_ path: String) -> StoreError {
    StoreError(.closed, "The store at \(path), or this view of it, was closed. Open it again.")
  }
}
