#if RocksDB
  internal import CRocksDB
  internal import ConiferKeyValue
  internal import ConiferStorage

  /// RocksDB's write-ahead logs, read before RocksDB opens them.
  ///
  /// RocksDB's recovery has two kinds of modes. One takes every invalid record for the work of a
  /// crash, and silently drops even synced commits; the other refuses a log that a crash tore. So
  /// the store cuts the log itself, at the first invalid record, and tells RocksDB to accept only
  /// complete logs. Each record of ours states up to which sequence number everything was synced
  /// when it was written: if a later record states that the invalid part was synced, the log is
  /// damaged and not merely torn.
  ///
  /// Format: github.com/facebook/rocksdb/wiki/Write-Ahead-Log-File-Format, the same since LevelDB.
  struct WriteAheadLog {
    private static let blockSize = 32768
    private static let headerSize = 7

    /// What each commit carries beside its edits: in the log only, never in the sorted files.
    struct Note {
      /// The newest sequence number that was synced when the record was written.
      var synced: UInt64
      /// The newest sequence number before the log's first record.
      var base: UInt64

      private static let magic = Bytes("Cnfr".utf8)
      static let size = 20

      var bytes: Bytes {
        Self.magic
          + (0..<16).map {
            UInt8(truncatingIfNeeded: ($0 < 8 ? synced : base) >> (8 * UInt64($0 % 8)))
          }
      }

      init(synced: UInt64, base: UInt64) {
        self.synced = synced
        self.base = base
      }

      /// Reads the note that begins a write batch: its kind (3), its length, then itself.
      init?(_ head: Bytes) {
        guard head.count >= 14 + Self.size, head[12] == 3, head[13] == UInt8(Self.size),
          head[14...].starts(with: Self.magic)
        else { return nil }
        synced = head.littleEndian(at: 18)
        base = head.littleEndian(at: 26)
      }
    }

    /// Checks the logs of a store that was not closed in order, and cuts the unsynced end.
    ///
    /// - Parameter sequence: the newest sequence number to keep; nil to keep all valid records.
    /// - Throws: `damaged`, `denied`, `full`, `io`.
    static func recover(_ directory: String, upTo sequence: UInt64? = nil) throws(StoreError) {
      let logs = try logs(directory)
      for log in logs {
        let path = directory + "/" + log.name
        let bytes = try System.read(path, log.length)
        let read = WriteAheadLog(bytes, upTo: sequence)
        guard read.end < bytes.count else { continue }
        if log.name != logs.last?.name || read.isDamaged {
          throw .rocksDBDamaged(
            directory, "\(log.name) is broken at byte \(read.end), within what had been synced")
        }
        try System.cut(path, to: read.end)
      }
    }

    /// Makes the logs survive power loss without RocksDB, which must not use a file again after a
    /// write to it failed.
    ///
    /// - Throws: `denied`, `io`.
    static func sync(_ directory: String) throws(StoreError) {
      for log in try logs(directory) { try System.sync(directory + "/" + log.name) }
    }

    /// The logs that are not empty, oldest first; a newer log without a record may follow the one
    /// that was written last.
    static func logs(_ directory: String) throws(StoreError) -> [(name: String, length: Int)] {
      try System.files(in: directory).filter { $0.name.hasSuffix(".log") && $0.length > 0 }
        // RocksDB pads numbers to six digits only.
        .sorted { (number($0.name), $0.name) < (number($1.name), $1.name) }
    }

    private static func number(_ name: String) -> Int { Int(name.dropLast(4)) ?? .max }

    /// The end of the last valid record.
    let end: Int
    /// Whether a later record shows that the invalid part had been synced.
    let isDamaged: Bool

    init(_ bytes: Bytes, upTo limit: UInt64? = nil) {
      var end = 0
      var next: UInt64?
      var isCut = false
      while let record = Self.record(bytes, at: end) {
        let sequence = record.head.littleEndian(at: 0)
        if let limit, Note(record.head) != nil, sequence > limit {
          isCut = true
          break
        }
        if record.head.count >= 12 {
          next = sequence + (record.head.littleEndian(at: 8) & 0xFFFF_FFFF)
        }
        end = record.end
      }
      self.end = end
      isDamaged = !isCut && Self.proof(bytes, after: end, next)
    }

    /// Whether a record after the invalid part states that the part had been synced.
    private static func proof(_ bytes: Bytes, after end: Int, _ next: UInt64?) -> Bool {
      var at = end + 1
      while at + headerSize <= bytes.count {
        if bytes[at + 6] == 1 || bytes[at + 6] == 2, let record = record(bytes, at: at) {
          if let note = Note(record.head), note.synced >= next ?? (note.base + 1) { return true }
          at = record.end
        } else {
          at += 1
        }
      }
      return false
    }

    /// The record that begins at an offset: its end and its first bytes; nil when it is not
    /// complete.
    static func record(
      _ bytes: Bytes, at start: Int, keeping size: Int = 14 + Note.size
    ) -> (end: Int, head: Bytes)? {
      var at = start
      var head: Bytes = []
      var isBegun = false
      while let fragment = fragment(bytes, at: at) {
        let wanted = size - head.count
        if wanted > 0 { head += bytes[fragment.payload].prefix(wanted) }
        at = fragment.payload.upperBound
        switch fragment.kind {
        case 2 where !isBegun: isBegun = true
        case 3 where isBegun: break
        case 4 where isBegun: return (at, head)
        // A whole record, or one of a later version's own kinds.
        case 1 where !isBegun, 9... where !isBegun: return (at, head)
        default: return nil
        }
      }
      return nil
    }

    /// The fragment that begins at an offset, or after the padding of its block.
    private static func fragment(
      _ bytes: Bytes, at start: Int
    ) -> (kind: UInt8, payload: Range<Int>)? {
      var at = start
      let left = blockSize - at % blockSize
      if left < headerSize { at += left }
      guard at + headerSize <= bytes.count else { return nil }
      let kind = bytes[at + 6]
      let payload =
        (at + headerSize)..<(at + headerSize + Int(bytes[at + 4]) + Int(bytes[at + 5]) << 8)
      guard kind != 0, payload.upperBound <= bytes.count,
        payload.upperBound - at <= blockSize - at % blockSize
      else { return nil }
      let stored = UInt32(truncatingIfNeeded: bytes.littleEndian(at: at, 4))
      let found = bytes.withUnsafeBytes {
        conifer_crc32c(0, $0.baseAddress.map { $0 + at + 6 }, payload.count + 1)
      }
      let masked = (found >> 15 | found << 17) &+ 0xA282_EAD8
      return masked == stored ? (kind, payload) : nil
    }
  }

  extension Array where Element == UInt8 {
    /// A number of some bytes, least first; bytes beyond the end count as zero.
    func littleEndian(at offset: Int, _ count: Int = 8) -> UInt64 {
      var number: UInt64 = 0
      for i in 0..<count where offset + i < self.count {
        number |= UInt64(self[offset + i]) << (8 * UInt64(i))
      }
      return number
    }
  }
#endif
