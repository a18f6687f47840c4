#if RocksDB
  internal import CRocksDB
  public import ConiferKeyValue
  internal import Synchronization
  internal import ConiferStorage

  extension RocksDBStore {
    /// Applies a batch as one write of RocksDB and returns when it is as durable as asked.
    ///
    /// - Throws: `tooLarge` (a key above 64 KiB, a value of 1 GiB), `invalid` (space 0 or 255),
    ///   `full`, `unsupported`, `io`, `damaged`, `poisoned`, `closed`, `suspended`. After
    ///   `poisoned` and `io` only reopening shows whether the commit was stored; after the others
    ///   nothing has changed.
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
        if writer.needsReopening || engine.isReadOnly {
          engine = try reopen(&writer, options.patience, usesReserve: givesBack)
        }
        do throws(StoreError) {
          try write(batch, syncs: durability == .power, &writer, engine)
        } catch {
          // The error may come from an earlier flush in the background, so the write is tried once
          // more.
          guard writer.needsReopening, writer.poison == nil else { throw error }
          if givesBack, Reserve.release(path) { writer.isShortOfSpace = true }
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
        // A store that could not be reopened has no database; its log files are then synced
        // directly.
        let engine = try isLost ? nil : engine()
        if let poison = writer.poison { throw .rocksDBPoisoned(path, poison.description) }
        try sync(&writer, engine)
      }
    }

    private var isLost: Bool { phase.withLock { if case .lost = $0 { true } else { false } } }

    /// The database of an open store; throws when a commit or background work has poisoned the
    /// store.
    func writable(
      _ writer: inout Writer, usesReserve: Bool = false
    ) throws(StoreError) -> Engine {
      let engine = try isLost ? reopen(&writer, .zero, usesReserve: usesReserve) : engine()
      if writer.poison == nil, !writer.needsReopening, let words = engine.backgroundFailure() {
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
        if let engine, !writer.needsReopening, !engine.isReadOnly {
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
        let isOlder = engine.hasBackgroundFailure || StoreError.mentionsFlushedFile(words, path)
        let error = failed(words, &writer)
        if isOlder, let poison = writer.poison {
          throw .rocksDBPoisoned(path, poison.description)
        }
        throw error
      }
      writer.sequence = engine.sequence
      if syncs { writer.synced = writer.sequence }
      if plan.givesBack { writer.needsFlush = true }
      live.store(plan.live, ordering: .releasing)
      // The commit is done, so a failure here is thrown by the next one.
      if writer.endsRest(engine, isCommit: true), let words = engine.beginCompacting() {
        _ = failed(words, &writer)
        return
      }
      guard engine.number("rocksdb.cur-size-active-mem-table") >= options.memtable else { return }
      do throws(StoreError) {
        try switchLog(&writer, engine, waits: false)
      } catch { if error.code != .full { writer.poison = error } }
    }

    /// Syncs the old log before a new one begins, so that no commit in the new log survives a power
    /// loss that an earlier commit does not.
    func switchLog(_ writer: inout Writer, _ engine: Engine, waits: Bool) throws(StoreError) {
      try sync(&writer, engine)
      if let words = engine.flush(waits: waits) { throw failed(words, &writer) }
      writer.base = writer.sequence
      writer.needsFlush = false
    }

    /// The error of a failed write. The store stays usable after a full disk: RocksDB is reopened
    /// before the next write, and what it may have written of this commit is cut off.
    func failed(_ words: String, _ writer: inout Writer) -> StoreError {
      let error = StoreError.rocksDB(words, "write", path)
      guard error.code == .full, !StoreError.mentionsSync(words, path) else {
        return poisoned(error, &writer)
      }
      writer.needsReopening = true
      return error
    }

    /// Poisons the store. A sync that fails because the disk is full is reported as `io`, not as
    /// `full`.
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
      if writer.isShortOfSpace, !givesBack {
        guard Reserve.fill(path, options) else {
          throw StoreError(
            .full,
            "The volume of \(path) is full. Free disk space, then try again; reading and deleting go "
              + "on meanwhile.")
        }
        writer.isShortOfSpace = false
      }
      guard let room = System.room(at: path) else { return }
      let reserve = max(givesBack ? options.reserve / 16 : options.reserve, 0)
      guard room < need + reserve else { return }
      if givesBack {
        // The batch is tried: the space may be held by a running compaction, and RocksDB reports a
        // disk that is really full.
        if Reserve.release(path) { writer.isShortOfSpace = true }
        return
      }
      throw StoreError(
        .full,
        "The volume of \(path) has \(room) bytes left, of which \(reserve) are kept for deleting and "
          + "folding. Free disk space, or lower RocksDBOptions.reserve; reading goes on meanwhile.")
    }
  }
#endif
