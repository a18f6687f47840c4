internal import CLMDB
internal import ConiferKeyValue
internal import ConiferStorage

extension LMDBStore {
  /// LMDB makes its lock file when the data file, which is made elsewhere, is in place.
  static let files = StoreFiles(kind: "lmdb", main: "data.mdb", later: ["lock.mdb"])

  /// Takes the lock, checks the data file before LMDB maps it, and opens the environment.
  static func openEnvironment(
    _ path: String, _ options: LMDBOptions
  ) throws(StoreError) -> LMDBEnvironment {
    try Platform.makeDirectory(path)
    let owner = try OwnerLock(path: path + "/owner", for: files)
    do throws(StoreError) {
      return try openEnvironment(path, options, owner)
    } catch {
      // The next opening must look as far as this one.
      if owner.wasLeftBehind { owner.leave() }
      throw error
    }
  }

  private static func openEnvironment(
    _ path: String, _ options: LMDBOptions, _ owner: OwnerLock
  ) throws(StoreError) -> LMDBEnvironment {
    if System.length(path + "/data.mdb") == nil { try LMDBFormat.create(in: path) }
    // A killed process may have left the file's name unsynced, and nothing later would sync it.
    try Platform.syncDirectory(path)
    let claim = try LMDBEnvironment.claim(path, isOwner: true)
    do throws(StoreError) {
      return try openEnvironment(path, options, owner, claim)
    } catch {
      claim.release()
      throw error
    }
  }

  private static func openEnvironment(
    _ path: String, _ options: LMDBOptions, _ owner: OwnerLock, _ claim: ProcessClaim
  ) throws(StoreError) -> LMDBEnvironment {
    let length = try check(path, wasLeftBehind: owner.wasLeftBehind)
    var made: OpaquePointer?
    var result = mdb_env_create(&made)
    guard result == 0, let handle = made else { throw .lmdb(result, "open", path) }
    let mapSize = options.mapSize(forFile: length)
    result = mdb_env_set_mapsize(handle, mapSize)
    if result == 0 {
      result = mdb_env_set_maxreaders(handle, UInt32(clamping: max(1, options.readerSlots)))
    }
    if result == 0 { result = mdb_env_open(handle, path, UInt32(MDB_NOTLS), 0o600) }
    guard result == 0 else {
      mdb_env_close(handle)
      throw .lmdb(result, "open", path)
    }
    // LMDB 0.9 opens the data file without close-on-exec.
    var file: Int32 = -1
    if mdb_env_get_fd(handle, &file) == 0 { System.closeOnExec(file) }
    do throws(StoreError) {
      let tree = try LMDBFormat.check(handle, path)
      owner.recordKind()
      return LMDBEnvironment(
        path: path, handle: handle, tree: tree, owner: owner, claim: claim, mapSize: mapSize)
    } catch {
      mdb_env_close(handle)
      throw error
    }
  }

  /// How many pages are checked at every opening.
  static let pagesChecked = 1 << 10

  /// How many pages are checked before LMDB maps them: a page that is not what LMDB thinks can end the
  /// process. Who was killed by one must not be killed by it again, so that more are checked then.
  private enum Checked {
    static let usually = LMDBStore.pagesChecked
    static let afterDeath = 1 << 14
  }

  /// Checks the data file without mapping it and returns its length. A valid file that ends before
  /// its last page is lengthened first.
  ///
  /// - Parameter wasLeftBehind: whether the last owner ended without closing the store.
  /// - Throws: `damaged`, `foreign`, `newerFormat`, `denied`, `io`.
  private static func check(_ path: String, wasLeftBehind: Bool) throws(StoreError) -> Int {
    let name = path + "/data.mdb"
    guard let file = System.open(name, writing: true) else {
      throw Platform.error(System.lastError, "open the LMDB file", name)
    }
    defer { Platform.close(file) }
    guard case .success(let length) = System.length(name) else {
      throw Platform.error(System.lastError, "measure", name)
    }
    // The page layout is known for 64-bit systems; elsewhere only LMDB's own check runs.
    guard MemoryLayout<Int>.size == 8 else { return length }
    let meta = try LMDBMeta.read(file, length: length, path)
    var full = length
    if length < meta.fullLength {
      var walk = LMDBPageWalk(file: file, meta: meta, pages: length / meta.pageSize, path: path)
      try walk.check()
      System.lengthen(file, to: meta.fullLength)
      full = meta.fullLength
    }
    let most = wasLeftBehind ? Checked.afterDeath : Checked.usually
    if meta.lastPage < most {
      var check = LMDBTreeCheck(file: file, meta: meta, length: full, name: name)
      var first: StoreFinding?
      _ = try check.run { first = first ?? $0 }
      if let first { throw LMDBMeta.damaged(path, first.words) }
    }
    return full
  }
}
