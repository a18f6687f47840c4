#if RocksDB
  internal import CRocksDB
  public import ConiferKeyValue
  internal import Synchronization
  internal import ConiferStorage

  extension RocksDBStore {
    /// Applies a batch as one write of RocksDB and returns when it is as durable as asked.
    ///
    /// - Throws: `tooLarge` (a key above 64 KiB, a value of 1 GiB), `invalid` (space 0 or 255), `full`,
    ///   `unsupported`, `io`, `damaged`, `poisoned`, `closed`, `suspended`. Nothing has changed then,
    ///   unless the code is `poisoned` or `io`, where reopening tells.
    public func apply(_ batch: Batch, _ durability: Durability) throws(StoreError) -> CommitID {
      try writer.withLock { writer throws(StoreError) in
        let need = try measure(batch)
        let givesBack = need < 1 << 20 && batch.makesRoom
        var engine = try writable(&writer, usesReserve: givesBack)
        guard durability <= traits.strongest else {
          throw StoreError(
            .unsupported,
            "This store cannot promise .\(durability) here. Ask for .\(traits.strongest).")
        }
        try requireRoom(need, givesBack, &writer)
        if writer.isStuck || engine.isReadOnly {
          engine = try reopen(&writer, options.patience, usesReserve: givesBack)
        }
        do throws(StoreError) {
          try write(batch, syncs: durability == .power, &writer, engine)
        } catch {
          // It may be an older failure, of a flush in the background, that RocksDB tells only now.
          guard writer.isStuck, writer.poison == nil else { throw error }
          if givesBack, Reserve.release(path) { writer.isTight = true }
          engine = try reopen(&writer, .zero, usesReserve: givesBack)
          try write(batch, syncs: durability == .power, &writer, engine)
        }
        writer.last += 1
        return CommitID(rawValue: writer.last)
      }
    }

    /// Makes every commit up to this one survive power loss, by syncing the log once.
    ///
    /// - Throws: `io`, `poisoned`, `closed`, `suspended`.
    public func harden(_ upTo: CommitID) throws(StoreError) {
      try writer.withLock { writer throws(StoreError) in
        // Also a store that could not be opened again for writing keeps what it took.
        let engine = try isLost ? nil : engine()
        if let poison = writer.poison { throw .rocksDBPoisoned(path, poison.description) }
        try sync(&writer, engine)
      }
    }

    private var isLost: Bool { phase.withLock { if case .lost = $0 { true } else { false } } }

    /// The database of a store that is open and not poisoned, also by what failed in the background.
    func writable(
      _ writer: inout Writer, usesReserve: Bool = false
    ) throws(StoreError) -> Engine {
      let engine = try isLost ? reopen(&writer, .zero, usesReserve: usesReserve) : engine()
      if writer.poison == nil, !writer.isStuck, let words = engine.backgroundFailure() {
        _ = failed(words, &writer)
      }
      if let poison = writer.poison { throw .rocksDBPoisoned(path, poison.description) }
      return engine
    }

    /// Syncs the log; poisons the store when that fails.
    ///
    /// - Parameter engine: the database; nil when there is none.
    func sync(_ writer: inout Writer, _ engine: Engine?) throws(StoreError) {
      guard writer.synced < writer.sequence else { return }
      do throws(StoreError) {
        if let engine, !writer.isStuck, !engine.isReadOnly {
          if let words = engine.syncLog() { throw StoreError.rocksDB(words, "sync", path) }
        } else {
          try WriteAheadLog.sync(path)
        }
      } catch { throw poisoned(error, &writer) }
      writer.synced = writer.sequence
    }

    private func write(
      _ batch: Batch, syncs: Bool, _ writer: inout Writer, _ engine: Engine
    ) throws(StoreError) {
      var plan = BatchPlan(
        engine, live: live.load(ordering: .relaxed),
        note: WriteAheadLog.Note(synced: writer.synced, base: writer.base))
      for edit in batch.edits { try plan.add(edit) }
      plan.put(StoreRecord.space, StoreRecord.key, StoreRecord(live: plan.live).bytes)
      if let words = engine.write(plan.batch, syncs: syncs) {
        let isOlder = engine.hasBackgroundFailure || StoreError.tellsOfFlush(words, path)
        let error = failed(words, &writer)
        if isOlder, let poison = writer.poison {
          throw .rocksDBPoisoned(path, poison.description)
        }
        throw error
      }
      writer.sequence = engine.sequence
      if syncs { writer.synced = writer.sequence }
      if plan.givesBack { writer.owesFlush = true }
      live.store(plan.live, ordering: .releasing)
      // The commit is done: a failure here is the next one's.
      if writer.endsRest(engine, isCommit: true), let words = engine.beginCompacting() {
        _ = failed(words, &writer)
        return
      }
      guard engine.number("rocksdb.cur-size-active-mem-table") >= options.memtable else { return }
      do throws(StoreError) {
        try switchLog(&writer, engine, waits: false)
      } catch { if error.code != .full { writer.poison = error } }
    }

    /// Begins a new log after syncing the old one, so that no commit in the new one can outlive an
    /// earlier one in the old.
    func switchLog(_ writer: inout Writer, _ engine: Engine, waits: Bool) throws(StoreError) {
      try sync(&writer, engine)
      if let words = engine.flush(waits: waits) { throw failed(words, &writer) }
      writer.base = writer.sequence
      writer.owesFlush = false
    }

    /// The error of a failed write. A full disk leaves the store usable: RocksDB is opened anew before
    /// the next write, and what it may have written of this one is cut off.
    func failed(_ words: String, _ writer: inout Writer) -> StoreError {
      let error = StoreError.rocksDB(words, "write", path)
      guard error.code == .full, !StoreError.tellsOfSync(words, path) else {
        return poisoned(error, &writer)
      }
      writer.isStuck = true
      return error
    }

    /// Poisons the store: a sync that failed for want of space is no ordinary full disk.
    func poisoned(_ error: StoreError, _ writer: inout Writer) -> StoreError {
      let error =
        error.code == .full ? StoreError(.io, error.message, cause: error.cause) : error
      writer.poison = error
      return error
    }

    /// Checks a batch and returns about how many bytes it writes.
    private func measure(_ batch: Batch) throws(StoreError) -> Int {
      var need = 1 << 12
      for edit in batch.edits {
        let space: Space
        switch edit {
        case .put(let place, let key, let value):
          space = place
          guard key.count <= traits.longestKey, value.count < 1 << 30 else {
            throw StoreError(
              .tooLarge,
              "RocksDB takes keys up to \(traits.longestKey) bytes and values below 1 GiB here; this "
                + "key has \(key.count) bytes, its value \(value.count). Shorten or split them.")
          }
          need += 64 + key.count + value.count
        case .delete(let place, let key):
          space = place
          need += 64 + key.count
        case .clear(let place, _, _):
          space = place
          need += 64
        }
        guard space.id != 0, space.id != 255 else {
          throw StoreError(
            .invalid, "Space \(space.id) is reserved. Use a space from 1 to 254.")
        }
      }
      return need
    }

    /// Refuses a batch before the disk is so full that RocksDB would stop for good.
    ///
    /// - Throws: `full`.
    private func requireRoom(
      _ need: Int, _ givesBack: Bool, _ writer: inout Writer
    ) throws(StoreError) {
      if writer.isTight, !givesBack {
        guard Reserve.fill(path, options) else {
          throw StoreError(
            .full,
            "The volume of \(path) is full. Free disk space, then try again; reading and deleting go "
              + "on meanwhile.")
        }
        writer.isTight = false
      }
      guard let room = System.room(at: path) else { return }
      let reserve = max(givesBack ? options.reserve / 16 : options.reserve, 0)
      guard room < need + reserve else { return }
      if givesBack {
        // A compaction may just be using the rest; what is too much after all, RocksDB tells.
        if Reserve.release(path) { writer.isTight = true }
        return
      }
      throw StoreError(
        .full,
        "The volume of \(path) has \(room) bytes left, of which \(reserve) are kept for deleting and "
          + "folding. Free disk space, or lower RocksDBOptions.reserve; reading goes on meanwhile.")
    }
  }
#endif
