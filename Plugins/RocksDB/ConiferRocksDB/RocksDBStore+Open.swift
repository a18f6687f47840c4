#if RocksDB
  internal import CRocksDB
  internal import ConiferKeyValue
  internal import Synchronization
  internal import ConiferStorage

  extension RocksDBStore {
    /// Checks the files, makes them when there are none, and opens the database; the lock is held.
    ///
    /// - Parameters:
    ///   - sequence: the newest sequence number to keep; nil to keep all valid records.
    ///   - usesReserve: whether the reserve may be given up for it when the disk is full.
    static func openEngine(
      _ path: String, _ options: RocksDBOptions, upTo sequence: UInt64? = nil,
      usesReserve: Bool = true
    ) throws(StoreError) -> Engine {
      switch try Marker.inspect(path) {
      case .nothing: return try create(path, options)
      case .store:
        if try !Inventory.check(path) {
          try WriteAheadLog.recover(path, upTo: sequence)
          try Manifest.recover(path)
        }
        try Inventory.remove(path)
        do throws(StoreError) {
          return try Engine(path, options)
        } catch {
          guard error.code == .full, usesReserve else { throw error }
          Reserve.release(path)
          // The database opened now treats all records of the logs as synced, so they are synced
          // first.
          try WriteAheadLog.sync(path)
          return try Engine(path, options, isShortOfSpace: true)
        }
      }
    }

    private static func create(
      _ path: String, _ options: RocksDBOptions
    ) throws(StoreError) -> Engine {
      try Marker.begin(path)
      let engine = try Engine(path, options, creates: true)
      let plan = BatchPlan(engine, live: 0, note: WriteAheadLog.Note(synced: 0, base: 0))
      plan.put(StoreRecord.space, StoreRecord.key, StoreRecord(live: 0).bytes)
      if let words = engine.write(plan.batch, syncs: true) ?? engine.flush(waits: true) {
        throw .rocksDB(words, "create", path)
      }
      try Marker.finish(path)
      return engine
    }

    /// Reopens the database after the disk was full, which RocksDB itself never recovers from.
    /// Records of commits that were not acknowledged are cut off.
    ///
    /// - Parameters:
    ///   - patience: how long to wait for open views; the old database stays open while they are.
    ///   - usesReserve: whether the reserve may be given up for it.
    /// - Throws: `full`, `io`, `damaged`. Reading continues, unless the database cannot even be
    ///   opened for reading.
    func reopen(
      _ writer: inout Writer, _ patience: Duration, usesReserve: Bool = false
    ) throws(StoreError) -> Engine {
      let sequence = writer.sequence
      let engine = try phase.withLock { phase throws(StoreError) -> Engine in
        let lock: OwnerLock
        switch phase {
        case .closed, .suspended: throw .rocksDBClosed(path)
        case .lost(_, let held): lock = held
        case .open(let old, let held):
          lock = held
          guard old.drain(patience) else {
            throw StoreError(
              .full,
              "The disk of \(path) was full, and writing can only go on when no view is open. "
                + "Close views within milliseconds, then try again.")
          }
        }
        do throws(StoreError) {
          let engine = try Self.openEngine(
            path, options, upTo: sequence, usesReserve: usesReserve)
          phase = .open(engine, lock)
          return engine
        } catch {
          do throws(StoreError) {
            phase = .open(try Engine(path, options, isReadOnly: true), lock)
          } catch {
            phase = .lost(error, lock)
          }
          throw error
        }
      }
      writer.begin(engine)
      return engine
    }
  }
#endif
