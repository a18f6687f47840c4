#if RocksDB
  internal import ConiferKeyValue
  internal import ConiferStorage

  /// The store's own row, written by every commit: what marks the database as Conifer's, its format,
  /// and how many bytes its live rows take.
  ///
  /// Space byte 0 belongs to the store itself (spaces have 1 to 254). Value: the magic, then the
  /// format as 4 bytes and the live bytes as 8, least first; later formats may append.
  struct StoreRecord {
    static let space = Space(id: 0, shape: .rows)
    static let key = Bytes("store".utf8)
    private static let magic = Bytes("Conifer RocksDB".utf8)

    /// The approximate bytes of live rows: keys, values and RocksDB's overhead.
    var live: Int

    var bytes: Bytes {
      Self.magic
        + (0..<4).map { UInt8(truncatingIfNeeded: Marker.format >> (8 * $0)) }
        + (0..<8).map { UInt8(truncatingIfNeeded: live >> (8 * $0)) }
    }

    init(live: Int) { self.live = live }

    /// Reads the record of an open database.
    ///
    /// - Throws: `damaged` when it is missing or unreadable, `newerFormat`, `io`.
    init(_ engine: Engine) throws(StoreError) {
      let found = try engine.get(Self.space, Self.key, engine.tuning.reading) { Bytes($0) }
      try self.init(found, engine.path)
    }

    /// Reads the record's value.
    ///
    /// - Throws: `damaged` when it is missing or unreadable, `newerFormat`.
    init(_ found: Bytes?, _ path: String) throws(StoreError) {
      guard let found, found.starts(with: Self.magic), found.count >= Self.magic.count + 12 else {
        throw .rocksDBDamaged(path, "the store's own row is missing")
      }
      let format = found.littleEndian(at: Self.magic.count, 4)
      guard format <= UInt64(Marker.format) else { throw Marker.newer(path, Int(clamping: format)) }
      live = Int(clamping: found.littleEndian(at: Self.magic.count + 4))
    }
  }
#endif
