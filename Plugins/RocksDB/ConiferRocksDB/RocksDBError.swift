#if RocksDB
  internal import CRocksDB
  internal import ConiferKeyValue

  /// Calls RocksDB and returns, beside its result, the words of the error if it told one.
  @inline(__always)
  func telling<R>(
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> R
  ) -> (R, String?) {
    var words: UnsafeMutablePointer<CChar>?
    let result = body(&words)
    guard let words else { return (result, nil) }
    defer { rocksdb_free(words) }
    return (result, String(cString: words))
  }

  extension StoreError {
    /// The store error for the words of a status of RocksDB: its C interface tells no code, but every
    /// text begins with the kind of the status, and an I/O error ends with the system's words.
    ///
    /// - Parameters:
    ///   - words: the status as text.
    ///   - action: what was tried, as "open".
    ///   - path: the store's directory.
    static func rocksDB(_ words: String, _ action: String, _ path: String) -> StoreError {
      let own = words.leaving(path)
      func has(_ part: String) -> Bool { own.holds(part) }
      if has("No space left on device") || has("Disk quota exceeded") || has("Space limit reached")
      {
        return StoreError(
          .full,
          "No space is left to \(action) \(path). Free disk space or quota, then try again; "
            + "reading goes on meanwhile.", cause: words)
      }
      if has("Permission denied") || has("Operation not permitted")
        || has("Read-only file system")
      {
        return StoreError(
          .denied,
          "The system does not let this process \(action) \(path). "
            + "Give its user read and write access to the directory and its files.", cause: words)
      }
      if words.hasPrefix("IO error: While lock file") || words.hasPrefix("IO error: lock ") {
        return StoreError(
          .busy, "Another program has the RocksDB database in \(path) open. Close it there.",
          cause: words)
      }
      // Where a read was refused RocksDB tells of corruption too, with the system's words behind that.
      let isRefused = words.hasPrefix("Corruption") && has("IO error")
      if words.hasPrefix("Corruption") && !isRefused || has("No such file or directory")
        || has("does not exist")
      {
        return .rocksDBDamaged(path, words)
      }
      if words.hasPrefix("Not implemented") {
        return StoreError(
          .newerFormat,
          "The RocksDB files in \(path) were written by another version of RocksDB. "
            + "Open them with that one.", cause: words)
      }
      return StoreError(
        .io, "RocksDB could not \(action) \(path). Check the volume, then reopen the store.",
        cause: words)
    }

    /// Whether the words tell of a sync: then what is on the disk is not known, whatever the reason.
    ///
    /// - Parameter path: the store's directory, which the words may name.
    static func tellsOfSync(_ words: String, _ path: String) -> Bool {
      words.leaving(path).holds("sync")
    }

    /// Whether the words name a file that a flush or a compaction writes in the background.
    ///
    /// - Parameter path: the store's directory, which the words may name.
    static func tellsOfFlush(_ words: String, _ path: String) -> Bool {
      let own = words.leaving(path)
      return own.holds(".sst") || own.holds("MANIFEST-")
    }

    static func rocksDBDamaged(_ path: String, _ cause: String) -> StoreError {
      StoreError(
        .damaged,
        "The RocksDB files in \(path) are damaged. Set the directory aside and start a new store, "
          + "or restore a copy.", cause: cause)
    }

    static func rocksDBClosed(_ path: String) -> StoreError {
      StoreError(.closed, "The store at \(path), or this view of it, was closed. Open it again.")
    }

    static func rocksDBPoisoned(_ path: String, _ cause: String?) -> StoreError {
      StoreError(
        .poisoned,
        "An earlier write or sync of \(path) failed, so nothing more may be committed. "
          + "Close the store and open it again.", cause: cause)
    }
  }

  extension String {
    /// Whether a part occurs; by bytes, without the string-processing module.
    fileprivate func holds(_ part: String) -> Bool {
      let whole = Array(utf8)
      let wanted = Array(part.utf8)
      guard wanted.count <= whole.count else { return false }
      return (0...(whole.count - wanted.count)).contains { whole[$0...].starts(with: wanted) }
    }

    /// The text without a part, wherever it occurs.
    fileprivate func leaving(_ part: String) -> String {
      let (whole, unwanted) = (Array(utf8), Array(part.utf8))
      guard !unwanted.isEmpty else { return self }
      var kept: [UInt8] = []
      var at = 0
      while at < whole.count {
        if whole[at...].starts(with: unwanted) {
          at += unwanted.count
        } else {
          kept.append(whole[at])
          at += 1
        }
      }
      return String(decoding: kept, as: UTF8.self)
    }
  }
#endif
