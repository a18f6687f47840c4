import CLMDB
import ConiferKeyValue
public import ConiferStorage

/// The storage backend over an ``LMDBStore``.
public typealias LMDBBackend = PackedBackend<LMDBStore>

extension StorageConfiguration {
  /// Storage in LMDB, in a directory of its own.
  ///
  /// - Parameters:
  ///   - directory: made if it is missing.
  ///   - options: the options that every backend takes.
  ///   - lmdb: LMDB's own options.
  public static func lmdb(
    at directory: String, options: StorageOptions = StorageOptions(),
    lmdb: LMDBOptions = LMDBOptions()
  ) -> StorageConfiguration {
    let salvage = SalvageMethod(
      read: { (directory, _, edit, lost) throws(StoreError) in
        try LMDBSalvage.read(
          directory,
          row: { (key, value) throws(StoreError) in
            if let row = SalvageMethod.row(key, value) { try edit(row) }
          }, lost: lost)
      },
      rows: { (directory) throws(StoreError) in try LMDBStore(at: directory, lmdb) },
      elsewhere: { directory, options in .lmdb(at: directory, options: options, lmdb: lmdb) })
    return StorageConfiguration(
      name: "lmdb", location: directory, options: options, salvage: salvage,
      reading: { (directory) throws(StoreError) in try LMDBSharedStore(at: directory, lmdb) },
      files: { ["data.mdb", "lock.mdb"].contains($0) }
    ) { (options) throws(StoreError) in
      try LMDBBackend.open(LMDBStore(at: directory, lmdb), name: "lmdb", options: options)
    }
  }
}

extension StorageKind {
  /// `lmdb:///path`: storage in LMDB.
  public static let lmdb = StorageKind(
    name: "lmdb",
    options: [Option("mapsize", "the maximum size of the file, such as 4GB")],
    files: ["data.mdb", "lock.mdb"]
  ) { (url, options) throws(StoreError) in
    var own = LMDBOptions()
    if let text = url.value(of: "mapsize") {
      guard let bytes = StorageOptions.byteCount(text), bytes >= 1 << 20 else {
        throw StoreError(.invalid, "mapsize=\(text) is not valid. Set at least 1MB.")
      }
      own.maximumMapSize = bytes
      own.initialMapSize = min(own.initialMapSize, bytes)
    }
    return .lmdb(at: url.path, options: options, lmdb: own)
  }
  .kept(by: library)

  /// LMDB with its version.
  private static var library: String {
    var (major, minor, patch) = (Int32(0), Int32(0), Int32(0))
    _ = mdb_version(&major, &minor, &patch)
    return "LMDB \(major).\(minor).\(patch)"
  }
}
