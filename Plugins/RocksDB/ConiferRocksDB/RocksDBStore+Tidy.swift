#if RocksDB
  internal import CRocksDB
  public import ConiferKeyValue
  internal import Synchronization

  extension RocksDBStore {
    /// Sends what the log holds to sorted files, and compacts those that hold deleted or replaced
    /// rows, one piece of the key range after the other.
    ///
    /// A piece is about one file (2 MiB) with what lies under it, so a slice may take longer than
    /// asked by one such piece. What an open view still sees stays.
    ///
    /// - Returns: whether pieces are left.
    /// - Throws: `io`, `full`, `damaged`, `poisoned`, `closed`, `suspended`.
    public func tidy(_ slice: Duration) throws(StoreError) -> Bool {
      try writer.withLock { writer throws(StoreError) in
        var engine = try writable(&writer)
        if writer.needsReopening || engine.isReadOnly { engine = try reopen(&writer, .zero) }
        let end = ContinuousClock.now + slice
        if writer.ranges.isEmpty {
          if writer.needsFlush || engine.number("rocksdb.cur-size-active-mem-table") > 128 << 10 {
            try switchLog(&writer, engine, waits: true)
          }
          writer.ranges = engine.untidyRanges()
        }
        while let range = writer.ranges.popLast() {
          // Compacting would flush what lies in the range by itself, and begin a log that the store does not know of.
          if writer.sequence != writer.base { try switchLog(&writer, engine, waits: true) }
          engine.compact(range)
          if let words = engine.backgroundFailure() { throw failed(words, &writer) }
          if ContinuousClock.now >= end { break }
        }
        return !writer.ranges.isEmpty
      }
    }
  }

  extension Engine {
    /// The key ranges of the files that compacting may make smaller: those above the lowest level,
    /// and those that hold deletions.
    func untidyRanges() -> [(from: Bytes, to: Bytes)] {
      guard let files = rocksdb_livefiles(handle) else { return [] }
      defer { rocksdb_livefiles_destroy(files) }
      let indices = 0..<rocksdb_livefiles_count(files)
      let lowest = indices.map { rocksdb_livefiles_level(files, $0) }.max() ?? 0
      // A single file without deletions cannot become smaller.
      if indices.count == 1, rocksdb_livefiles_deletions(files, 0) == 0 { return [] }
      return indices.filter {
        rocksdb_livefiles_level(files, $0) < lowest || lowest == 0
          || rocksdb_livefiles_deletions(files, $0) > 0
      }.map { index in
        var count = 0
        let first = Bytes(rocksdb_livefiles_smallestkey(files, index, &count), count)
        let last = Bytes(rocksdb_livefiles_largestkey(files, index, &count), count)
        return (first, last)
      }
    }

    /// Compacts the files of a key range, down to the lowest level.
    func compact(_ range: (from: Bytes, to: Bytes)) {
      range.from.withUnsafeBytes { from in
        range.to.withUnsafeBytes { to in
          let (first, last) = (
            from.assumingMemoryBound(to: CChar.self), to.assumingMemoryBound(to: CChar.self)
          )
          rocksdb_compact_range_opt(
            handle, tuning.compacting, first.baseAddress, first.count, last.baseAddress, last.count)
        }
      }
    }
  }

  extension Array where Element == UInt8 {
    /// A copy of the bytes that RocksDB lends.
    fileprivate init(_ bytes: UnsafePointer<CChar>?, _ count: Int) {
      self.init(UnsafeRawBufferPointer(start: bytes, count: count))
    }
  }
#endif
