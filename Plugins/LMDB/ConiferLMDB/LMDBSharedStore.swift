internal import CLMDB
internal import ConiferKeyValue
internal import ConiferStorage

/// An LMDB store as it is read beside its owner: through an environment that only reads, with a slot of LMDB's
/// table of readers for each view.
///
/// A view pins the pages of its commit while it is open. The slots of a killed reader are cleared by the owner,
/// in `tidy` and before its file grows. When its own process opens the store as the owner, its views end and it lets
/// go of the files, as a process has them open once.
final class LMDBSharedStore: ReadableStore {
  let traits: StoreTraits
  private let environment: LMDBEnvironment
  /// The data file that was opened.
  private let opened: FileIdentity?

  /// Opens a store for reading.
  ///
  /// - Throws: `missing`, `foreign`, `newerFormat`, `damaged`, `busy` (this process has a reader already), `denied`,
  ///   `io`.
  init(at path: String, _ options: LMDBOptions) throws(StoreError) {
    let name = path + "/data.mdb"
    guard let found = FileIdentity(name) else { throw StoreError.noStore(in: path) }
    let claim = try LMDBEnvironment.claim(path, isOwner: false)
    let environment: LMDBEnvironment
    do throws(StoreError) {
      environment = try Self.environment(path, options, claim)
    } catch {
      claim.release()
      throw error
    }
    self.environment = environment
    opened = found
    traits = environment.traits
    claim.yields { [weak environment] in _ = environment?.retire(LMDBEnvironment.patience) }
  }

  deinit { close() }

  var isCurrent: Bool {
    !environment.isRetired && FileIdentity(environment.path + "/data.mdb") == opened
  }

  func view() throws(StoreError) -> any OrderedView { LMDBView(try environment.read()) }

  func close() { _ = environment.retire(.zero) }

  private static func environment(
    _ path: String, _ options: LMDBOptions, _ claim: ProcessClaim
  ) throws(StoreError) -> LMDBEnvironment {
    let name = path + "/data.mdb"
    guard let file = System.open(name) else {
      throw Platform.error(System.lastError, "open the LMDB file", name)
    }
    defer { Platform.close(file) }
    var made: OpaquePointer?
    var result = mdb_env_create(&made)
    guard result == 0, let handle = made else { throw .lmdb(result, "open", path) }
    do throws(StoreError) {
      // As many as the owner would make, in case the table is made here.
      result = mdb_env_set_maxreaders(handle, UInt32(clamping: max(1, options.readerSlots)))
      if result == 0 {
        try requireMeta(file, path)
        result = mdb_env_open(handle, path, UInt32(MDB_RDONLY | MDB_NOTLS), 0o600)
      }
      guard result == 0 else { throw .lmdb(result, "open", path) }
      // LMDB 0.9 opens the data file without close-on-exec.
      var opened: Int32 = -1
      if mdb_env_get_fd(handle, &opened) == 0 { System.closeOnExec(opened) }
      try check(handle, file, path)
      let tree = try LMDBFormat.check(handle, path)
      var info = MDB_envinfo()
      mdb_env_info(handle, &info)
      return LMDBEnvironment(
        path: path, handle: handle, tree: tree, owner: nil, claim: claim,
        mapSize: Int(info.me_mapsize))
    } catch {
      mdb_env_close(handle)
      throw error
    }
  }

  /// Refuses a file that LMDB would misread. The owner may write a meta page meanwhile, so it is looked at again.
  ///
  /// - Throws: `foreign`, `newerFormat`, `damaged`, `io`.
  private static func requireMeta(_ file: Int32, _ path: String) throws(StoreError) {
    // The layout is known for 64-bit systems; elsewhere only LMDB's own check runs.
    guard MemoryLayout<Int>.size == 8 else { return }
    for attempt in 1... {
      do throws(StoreError) {
        _ = try LMDBMeta.read(file, length: System.length(file) ?? 0, path)
        return
      } catch {
        guard error.code == .damaged, attempt < attemptsAtMost else { throw error }
        System.pause()
      }
    }
  }

  /// How often a file is looked at while its owner writes.
  private static let attemptsAtMost = 20

  /// Checks the pages of a commit, as the owner does at opening, before they are read through the map. The commit
  /// is held meanwhile, so that its pages stay as they are.
  ///
  /// - Throws: `damaged`, `io`, `busy`.
  private static func check(
    _ handle: OpaquePointer, _ file: Int32, _ path: String
  ) throws(StoreError) {
    guard MemoryLayout<Int>.size == 8 else { return }
    var info = MDB_stat()
    mdb_env_stat(handle, &info)
    for attempt in 1... {
      var begun: OpaquePointer?
      let result = LMDBFormat.beginReading(handle, &begun)
      guard result == 0, let transaction = begun else { throw .lmdb(result, "read", path) }
      defer { mdb_txn_abort(transaction) }
      let number = UInt64(mdb_txn_id(transaction))
      let meta = try LMDBMeta.read(file, of: number, pageSize: Int(info.ms_psize), path)
      guard let meta else {
        guard attempt < attemptsAtMost else {
          throw StoreError(
            .busy, "The owner of \(path) commits too fast to check the file: try again.")
        }
        continue
      }
      return try check(meta, file, path)
    }
  }

  private static func check(
    _ meta: LMDBMeta, _ file: Int32, _ path: String
  ) throws(StoreError) {
    let length = System.length(file) ?? 0
    if length < meta.fullLength {
      // The last pages may be free ones that were never written: then nobody reads them.
      var walk = LMDBPageWalk(file: file, meta: meta, pages: length / meta.pageSize, path: path)
      try walk.check()
    }
    guard meta.lastPage < LMDBStore.pagesChecked else { return }
    var check = LMDBTreeCheck(
      file: file, meta: meta, length: max(length, meta.fullLength), name: path + "/data.mdb")
    var first: StoreFinding?
    _ = try check.run { first = first ?? $0 }
    if let first { throw LMDBMeta.damaged(path, first.words) }
  }
}
