internal import CLMDB
internal import ConiferKeyValue
internal import ConiferStorage

extension StoreError {
  /// The store error for a result code of LMDB: one of its own or an `errno`.
  ///
  /// - Parameters:
  ///   - result: the code, not zero.
  ///   - action: what was tried, as "open".
  ///   - path: the store's directory.
  static func lmdb(_ result: Int32, _ action: String, _ path: String) -> StoreError {
    guard result < 0 else {
      if System.wouldBlock.contains(result) {
        return StoreError(
          .busy, "Another process holds LMDB's lock on \(path). Close the store there.",
          cause: words(result))
      }
      if result == System.noMemory {
        return StoreError(
          .io,
          "There is no memory or address space to \(action) \(path). "
            + "Lower LMDBOptions.initialMapSize and growthFactor.", cause: words(result))
      }
      return Platform.error(result, action, path)
    }
    switch result {
    case MDB_INVALID, MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_CURSOR_FULL:
      return StoreError(
        .damaged,
        "The LMDB file in \(path) is damaged. Set the directory aside and start a new store, or "
          + "restore a copy.", cause: words(result))
    case MDB_VERSION_MISMATCH:
      return StoreError(
        .newerFormat,
        "The LMDB file in \(path) was written by another version of LMDB. Open it with that one.",
        cause: words(result))
    case MDB_INCOMPATIBLE:
      return StoreError(
        .foreign,
        "The LMDB file in \(path) is not a store of Conifer. Use another directory.",
        cause: words(result))
    case MDB_PANIC:
      return poisoned(path)
    case MDB_MAP_FULL:
      return StoreError(
        .full,
        "The map of \(path) has reached its largest size. Raise LMDBOptions.maximumMapSize or "
          + "remove data.", cause: words(result))
    case MDB_READERS_FULL:
      return StoreError(
        .full,
        "Every reader slot of \(path) is taken. Close views sooner or raise "
          + "LMDBOptions.readerSlots.", cause: words(result))
    case MDB_TXN_FULL:
      return StoreError(
        .tooLarge, "The batch changes more pages than one LMDB transaction takes. Split it.",
        cause: words(result))
    default:
      return StoreError(
        .io,
        "LMDB could not \(action) \(path). Reopen the store; if it fails again, restore a copy.",
        cause: words(result))
    }
  }

  /// The refusal after a failed sync.
  static func poisoned(_ path: String) -> StoreError {
    StoreError(
      .poisoned,
      "An earlier write or sync of \(path) failed, so nothing more may be committed. "
        + "Close the store and open it again.")
  }

  private static func words(_ result: Int32) -> String {
    mdb_strerror(result).map { String(cString: $0) } ?? "LMDB code \(result)"
  }
}
