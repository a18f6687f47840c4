#if RocksDB
  internal import CRocksDB
  internal import ConiferKeyValue

  /// Calls RocksDB and returns the result, with the error message if there was one.
  @inline(__always)
  func withErrorMessage<R>(
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> R
  ) -> (R, String?) {
    var words: UnsafeMutablePointer<CChar>?
    let result = body(&words)
    guard let words else { return (result, nil) }
    defer { rocksdb_free(words) }
    return (result, String(cString: words))
  }

  extension StoreError {
    /// The store error for a RocksDB message. The C interface returns no code, but every message
    /// begins with the kind of the status, and that of an I/O error ends with the system's message.
    ///
    /// - Parameters:
    ///   - words: the status as text.
    ///   - action: what was tried, as "open".
    ///   - path: the store's directory.
    static func rocksDB(_ words: String, _ action: String, _ path: String) -> StoreError {
      let own = words.removing(path)
      func has(_ part: String) -> Bool { own.containsBytes(part) }
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
      // When a read is refused, RocksDB also reports corruption, followed by the system's message.
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

    /// Whether a message is about a sync: the state of the disk is then unknown, whatever the
    /// reason.
    ///
    /// - Parameter path: the store's directory, which the words may name.
    static func mentionsSync(_ words: String, _ path: String) -> Bool {
      words.removing(path).containsBytes("sync")
    }

    /// Whether a message names a file that a flush or a compaction writes in the background.
    ///
    /// - Parameter path: the store's directory, which the words may name.
    static func mentionsFlushedFile(_ words: String, _ path: String) -> Bool {
      let own = words.removing(path)
      return own.containsBytes(".sst") || own.containsBytes("MANIFEST-")
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
    /// Whether the text contains a part; compares bytes, without the string-processing module.
    fileprivate func containsBytes(_ part: String) -> Bool {
      let whole = Array(utf8)
      let wanted = Array(part.utf8)
      guard wanted.count <= whole.count else { return false }
      return (0...(whole.count - wanted.count)).contains { whole[$0...].starts(with: wanted) }
    }

    /// The text with every occurrence of a part removed.
    fileprivate func removing(_ part: String) -> String {
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
