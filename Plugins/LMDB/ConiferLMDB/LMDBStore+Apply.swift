internal import CLMDB
public import ConiferKeyValue
internal import ConiferStorage
internal import Synchronization

extension LMDBStore {
  /// Applies a batch in one write transaction, growing the map between transactions as needed.
  ///
  /// - Throws: `tooLarge` (a key above 510 bytes, a value of 4 GiB), `invalid` (space 0 or 255),
  ///   `full` (the disk, or the map at its maximum), `busy` (the map must grow while a view is held
  ///   open), `unsupported`, `io`, `damaged`, `poisoned`, `closed`, `suspended`. Nothing has changed
  ///   then; after `io` and `damaged` the store is poisoned.
  public func apply(
    _ batch: Batch, _ durability: Durability
  ) throws(StoreError) -> CommitID {
    try writer.withLock { writer throws(StoreError) in
      let environment = try environment()
      if writer.isPoisoned { throw .poisoned(path) }
      guard durability <= traits.strongest else {
        throw StoreError(
          .unsupported,
          "LMDB cannot promise .\(durability) on this system. Ask for .\(traits.strongest).")
      }
      let need = try measure(batch)
      try makeRoom(batch, &writer, environment)
      try commit(batch, need, durability, &writer, environment)
      writer.last += 1
      return CommitID(rawValue: writer.last)
    }
  }

  /// Syncs the meta page that `.process` commits left in the system's cache.
  ///
  /// - Throws: `io`, `poisoned`, `closed`, `suspended`.
  public func harden(_ upTo: CommitID) throws(StoreError) {
    try writer.withLock { writer throws(StoreError) in
      let environment = try environment()
      try sync(&writer, environment)
    }
  }

  /// Syncs what earlier commits left unsynced; poisons the store when that fails.
  func sync(_ writer: inout Writer, _ environment: LMDBEnvironment) throws(StoreError) {
    if writer.isPoisoned { throw .poisoned(path) }
    guard writer.needsSync else { return }
    var result = writer.needsNewMeta ? renewMeta(&writer, environment) : 0
    if result == 0 { result = mdb_env_sync(environment.handle, 1) }
    if result == 0, System.strongest < .power {
      // On Apple systems LMDB's own sync stops at the drive's buffer.
      var file: Int32 = -1
      result = mdb_env_get_fd(environment.handle, &file)
      if result == 0 { result = Platform.sync(file) }
    }
    guard result == 0 else {
      writer.isPoisoned = true
      // Any cause poisons, even `full`: the state of the disk is unknown.
      let known = StoreError.lmdb(result, "sync", path)
      throw StoreError(.io, known.message, cause: known.cause)
    }
    writer.needsSync = false
  }

  /// Makes an empty commit, so that there is a new meta page that the system has not dropped.
  private func renewMeta(_ writer: inout Writer, _ environment: LMDBEnvironment) -> Int32 {
    var batch = Batch()
    batch.put(
      Space(id: LMDBFormat.key[0], shape: .rows), Bytes(LMDBFormat.key.dropFirst()),
      LMDBFormat.record)
    return attempt(batch, .power, &writer, environment)
  }

  /// Checks a batch and returns about how many bytes of new pages it may need.
  private func measure(_ batch: Batch) throws(StoreError) -> Int {
    var need = 1 << 16
    for edit in batch.edits {
      let space: Space
      switch edit {
      case .put(let place, let key, let value):
        space = place
        guard key.count <= traits.longestKey, value.count < Int(UInt32.max) else {
          throw StoreError(
            .tooLarge,
            "LMDB takes keys up to \(traits.longestKey) bytes and values below 4 GiB; this key "
              + "has \(key.count) bytes, its value \(value.count). Shorten or split them.")
        }
        need += 64 + key.count + value.count + value.count / 8
      case .delete(let place, let key):
        space = place
        need += 64
        guard key.count <= traits.longestKey else {
          throw StoreError(
            .tooLarge,
            "LMDB takes keys up to \(traits.longestKey) bytes; the key to delete has "
              + "\(key.count), so it cannot be stored here.")
        }
      case .clear(let place, _, _):
        space = place
        need += 1 << 12
      }
      guard space.id != 0, space.id != 255 else {
        throw StoreError(
          .invalid, "Space \(space.id) is reserved. Use a space from 1 to 254.")
      }
    }
    return need
  }

  /// Commits a batch, growing the map as often as it takes.
  private func commit(
    _ batch: Batch, _ need: Int, _ durability: Durability, _ writer: inout Writer,
    _ environment: LMDBEnvironment
  ) throws(StoreError) {
    if environment.isBroken { throw .poisoned(path) }
    let map = environment.map
    if map.unused < need, let size = options.grown(from: map.size, need: need) {
      // The need is an estimate: when a view is open, the batch is tried in the map as it is.
      _ = try environment.growMap(to: size, .zero)
    }
    while true {
      let result = attempt(batch, durability, &writer, environment)
      if result == 0 { break }
      guard result == MDB_MAP_FULL else { throw failure(result, batch, &writer, environment) }
      guard
        let size = options.grown(
          from: environment.map.size, need: need, givesBack: Self.givesBack(batch, need))
      else {
        throw .lmdb(result, "write", path)
      }
      guard try environment.growMap(to: size, options.patience) else {
        throw StoreError(
          .busy,
          "The map of \(path) must grow, and a view is held open. Close views within "
            + "milliseconds, or raise LMDBOptions.initialMapSize.")
      }
    }
    if durability == .power {
      // LMDB syncs nothing for a commit that changes nothing, so earlier commits are synced here.
      if writer.needsSync { try sync(&writer, environment) }
    } else {
      writer.needsSync = true
    }
    growAhead(environment)
  }

  /// Whether a batch frees space and is small, as in evicting and draining the queue.
  private static func givesBack(_ batch: Batch, _ need: Int) -> Bool {
    need < 1 << 20 && batch.makesRoom
  }

  /// Runs one write transaction; zero or LMDB's code, after which nothing has changed.
  private func attempt(
    _ batch: Batch, _ durability: Durability, _ writer: inout Writer,
    _ environment: LMDBEnvironment
  ) -> Int32 {
    if batch.isEmpty { return 0 }
    let skipsMetaSync = durability < .power
    if skipsMetaSync != writer.skipsMetaSync {
      let result = mdb_env_set_flags(
        environment.handle, UInt32(MDB_NOMETASYNC), skipsMetaSync ? 1 : 0)
      if result != 0 { return result }
      writer.skipsMetaSync = skipsMetaSync
    }
    let before = transactions(environment)
    var begun: OpaquePointer?
    var result = mdb_txn_begin(environment.handle, nil, 0, &begun)
    guard result == 0, let transaction = begun else { return result }
    for edit in batch.edits {
      result = Self.run(edit, transaction, environment.tree)
      if result != 0 {
        mdb_txn_abort(transaction)
        return result
      }
    }
    result = mdb_txn_commit(transaction)
    guard result == 0 else { return result }
    // The data sync of a full commit flushed the meta pages of all earlier ones too.
    if durability == .power, transactions(environment) != before {
      writer.needsSync = false
      writer.needsNewMeta = false
    }
    return 0
  }

  private func transactions(_ environment: LMDBEnvironment) -> Int {
    var info = MDB_envinfo()
    mdb_env_info(environment.handle, &info)
    return Int(info.me_last_txnid)
  }

  private static func run(
    _ edit: Batch.Edit, _ transaction: OpaquePointer, _ tree: MDB_dbi
  ) -> Int32 {
    switch edit {
    case .put(let space, let key, let value):
      return withKey(space, key) { key in
        LMDBFormat.withStored(value) { value in
          var key = key
          var value = value
          return mdb_put(transaction, tree, &key, &value, 0)
        }
      }
    case .delete(let space, let key):
      return withKey(space, key) { key in
        var key = key
        let result = mdb_del(transaction, tree, &key, nil)
        return result == MDB_NOTFOUND ? 0 : result
      }
    case .clear(let space, let from, let to):
      guard bytesPrecede(from, to) else { return 0 }
      return clear(space, from, to, transaction, tree)
    }
  }

  private static func clear(
    _ space: Space, _ from: Bytes, _ to: Bytes, _ transaction: OpaquePointer, _ tree: MDB_dbi
  ) -> Int32 {
    var opened: OpaquePointer?
    var result = mdb_cursor_open(transaction, tree, &opened)
    guard result == 0, let cursor = opened else { return result }
    defer { mdb_cursor_close(cursor) }
    return withKey(space, from) { first in
      while true {
        // The cursor seeks again after each deletion; LMDB searches the current page first.
        var key = first
        var value = MDB_val()
        result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
        if result == MDB_NOTFOUND { return 0 }
        guard result == 0 else { return result }
        let found = UnsafeRawBufferPointer(key)
        guard found.count > 0, found[0] == space.id,
          UnsafeRawBufferPointer(rebasing: found[1...]).bytes.compare(to) < 0
        else { return 0 }
        result = mdb_cursor_del(cursor, 0)
        guard result == 0 else { return result }
      }
    }
  }

  /// The error for a failed commit. After a full disk the store stays usable, since the transaction
  /// was undone and the next one writes its pages again.
  private func failure(
    _ code: Int32, _ batch: Batch, _ writer: inout Writer, _ environment: LMDBEnvironment
  ) -> StoreError {
    let wasCut = code == System.failed && wasCutShort(batch, environment)
    let result = wasCut ? System.noSpaceError : code
    let isOrdinary =
      System.noSpace.contains(result) || result == System.noMemory || result == MDB_TXN_FULL
    if !isOrdinary { writer.isPoisoned = true }
    if isOrdinary, writer.needsSync { writer.needsNewMeta = true }
    return .lmdb(result, "write", path)
  }

  /// Lengthens the file to the size that its meta page states, and the map beyond the file.
  private func growAhead(_ environment: LMDBEnvironment) {
    let map = environment.map
    var file: Int32 = -1
    if mdb_env_get_fd(environment.handle, &file) == 0 {
      System.lengthen(file, to: map.size - map.unused)
    }
    if map.unused < map.size / 4, let size = options.grown(from: map.size, need: 0) {
      // This does not wait: while a view is open, a later commit does it.
      _ = try? environment.growMap(to: size, .zero)
    }
  }
}
