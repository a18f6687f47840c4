#if RocksDB
  internal import ConiferKeyValue
  internal import ConiferStorage

  /// RocksDB's list of its sorted files, read before RocksDB opens it after a crash.
  ///
  /// RocksDB adds the record of a flush or a compaction, and for a flush a short second one, and then
  /// syncs them together. So a crash may tear the first and leave the second whole, which RocksDB
  /// refuses as damage; where the bytes are zeros it leaves out the records without a word. So the
  /// list is cut here at the first broken record, as logs are, if its sorted files and the logs hold
  /// all that was ever synced. They do until the records are synced, since RocksDB removes the logs
  /// and the files that they replace only then. Otherwise the broken record had been synced, which is
  /// damage.
  ///
  /// Format: a log whose records are edits (github.com/facebook/rocksdb/wiki/MANIFEST, and
  /// `VersionEdit::EncodeTo` of version 7; fields of later versions that others may pass over are
  /// passed over).
  struct Manifest {
    /// The next text of `CURRENT`, before it is given the name.
    static let draft = "CURRENT.draft"

    /// The sorted files, by their numbers.
    private var files: Set<UInt64> = []
    /// The newest sequence number that a sorted file is known to have held.
    private var newest: UInt64 = 0
    /// The lowest number of a log that holds what the sorted files lack.
    private var firstLog: UInt64 = 0
    /// How many records told it.
    private var logRecords = 0
    /// Whether one removed files from the list.
    private var hasRemoved = false
    /// Whether all is there that was synced when the list was begun: the state before, which tells the log of then, and
    /// the change that began the list. An opening and a flush tell the log, too; a compaction removes files.
    private var isBegun: Bool { logRecords > 1 || hasRemoved }
    /// A number above those of all files that there were when the list was written.
    private var nextFile: UInt64 = 0

    /// Cuts off what a crash tore at the end of the current manifest.
    ///
    /// - Throws: `damaged` when the broken record had been synced; nothing is changed then. `denied`,
    ///   `full`, `io`.
    static func recover(_ directory: String) throws(StoreError) {
      let all = try System.files(in: directory)
      guard let current = all.first(where: { $0.name == "CURRENT" }) else { return }
      let text = try System.read(directory + "/CURRENT", min(256, current.length))
      let name = String(decoding: text.prefix { $0 != 10 }, as: UTF8.self)
      guard let list = all.first(where: { $0.name == name }) else {
        return try restorePrevious(directory, all)
      }
      let bytes = try System.read(directory + "/" + name, list.length)
      guard let (manifest, end) = Self.read(bytes), end > 0, end < bytes.count else { return }
      guard try manifest.isWhole(with: all, directory) else {
        throw .rocksDBDamaged(
          directory, "\(name) is broken at byte \(end), within what had been synced")
      }
      try System.cut(directory + "/" + name, to: end)
    }

    /// The list of a manifest's valid records, and where they end; nil when one has an unknown field.
    private static func read(_ bytes: Bytes) -> (Manifest, end: Int)? {
      var manifest = Manifest()
      var end = 0
      while let record = WriteAheadLog.record(bytes, at: end, keeping: bytes.count) {
        guard manifest.apply(record.head) else { return nil }
        end = record.end
      }
      return (manifest, end)
    }

    /// Points `CURRENT` to the previous manifest when a crash lost the name of the newest one:
    /// RocksDB writes a new manifest's name to `CURRENT` before it syncs the directory, and commits
    /// nothing before both are done.
    private static func restorePrevious(
      _ directory: String, _ all: [(name: String, length: Int)]
    ) throws(StoreError) {
      let lists = all.filter { $0.name.hasPrefix("MANIFEST-") }
      guard lists.count == 1, let list = lists.first else { return }
      let bytes = try System.read(directory + "/" + list.name, list.length)
      guard let (manifest, end) = Self.read(bytes), end > 0, end == bytes.count,
        try manifest.isWhole(with: all, directory)
      else { return }
      try System.write(Bytes((list.name + "\n").utf8), to: "\(directory)/\(draft)")
      try System.rename("\(directory)/\(draft)", to: directory + "/CURRENT")
    }

    /// Whether sorted files and logs hold all that was ever synced: the listed files exist, and the
    /// oldest log begins where they end. When no log holds a commit, there is no other sorted file, or
    /// a log of when the list was written is still there.
    private func isWhole(
      with all: [(name: String, length: Int)], _ directory: String
    ) throws(StoreError) -> Bool {
      func numbers(_ ending: String) -> Set<UInt64> {
        Set(all.compactMap { $0.name.hasSuffix(ending) ? UInt64($0.name.dropLast(4)) : nil })
      }
      let there = numbers(".sst")
      guard files.isSubset(of: there) else { return false }
      // RocksDB removes older logs, which may have failed.
      for log in try WriteAheadLog.logs(directory)
      where (UInt64(log.name.dropLast(4)) ?? firstLog) >= firstLog {
        let head = try System.read(directory + "/" + log.name, log.length)
        guard let first = WriteAheadLog.record(head, at: 0)?.head else { continue }
        guard let note = WriteAheadLog.Note(first) else { return false }
        return note.base <= newest
      }
      if there == files { return true }
      return isBegun && numbers(".log").contains { firstLog <= $0 && $0 < nextFile }
    }

    /// Applies an edit; false when it has an unknown field or lacks bytes.
    private mutating func apply(_ edit: Bytes) -> Bool {
      edit.withUnsafeBytes { edit in
        var reader = LentReader(edit)
        while reader.remaining > 0 {
          guard applyField(&reader) else { return false }
        }
        return true
      }
    }

    private mutating func applyField(_ reader: inout LentReader) -> Bool {
      switch reader.varint() {
      case 1: return reader.sized() != nil
      case 2:
        guard let number = reader.varint() else { return false }
        firstLog = max(firstLog, number)
        logRecords += 1
        return true
      case 3:
        guard let number = reader.varint() else { return false }
        nextFile = max(nextFile, number)
        return true
      case 4:
        // What the sorted files held, in which compaction leaves out sequence numbers; and not what logs hold: since
        // version 7, github.com/facebook/rocksdb/pull/9305.
        guard let number = reader.varint() else { return false }
        newest = max(newest, number)
        return true
      case .some(let field) where field & 8192 != 0: return reader.sized() != nil
      case 9, 10, 203: return reader.varint() != nil
      case 5: return reader.varint() != nil && reader.sized() != nil
      case 6:
        guard reader.varint() != nil, let file = reader.varint() else { return false }
        files.remove(file)
        hasRemoved = true
        return true
      case 103:
        guard reader.varint() != nil, let file = reader.varint(), reader.varint() != nil,
          reader.sized() != nil, reader.sized() != nil, reader.varint() != nil,
          let last = reader.varint()
        else { return false }
        files.insert(file)
        newest = max(newest, last)
        while let tag = reader.varint() {
          if tag == 1 { return true }
          guard reader.sized() != nil else { return false }
        }
        return false
      default: return false
      }
    }
  }
#endif
