#if RocksDB
  internal import ConiferKeyValue
  internal import ConiferStorage

  /// RocksDB's list of its sorted files, read before RocksDB opens it after a crash.
  ///
  /// RocksDB refuses a manifest whose last record a crash tore, although that record was never
  /// synced. So the torn record is cut off here, as it is in logs. The record had been synced if
  /// the logs lack commits that the listed sorted files lack too: then nothing is cut, and RocksDB
  /// reports the damage.
  ///
  /// Format: a log whose records are edits (github.com/facebook/rocksdb/wiki/MANIFEST, and
  /// `VersionEdit::EncodeTo` of version 7).
  struct Manifest {
    /// The sorted files, by their numbers.
    private var files: Set<UInt64> = []
    /// The newest sequence number that a sorted file is known to have held.
    private var newest: UInt64 = 0

    /// Cuts what a crash tore from the list that a store uses.
    /// Cuts off the record that a crash tore at the end of the current manifest.
    /// - Throws: `denied`, `full`, `io`.
    static func recover(_ directory: String) throws(StoreError) {
      let all = try System.files(in: directory)
      guard let current = all.first(where: { $0.name == "CURRENT" }) else { return }
      let text = try System.read(directory + "/CURRENT", min(256, current.length))
      let name = String(decoding: text.prefix { $0 != 10 }, as: UTF8.self)
      guard let list = all.first(where: { $0.name == name }) else {
        return try restorePrevious(directory, all)
      }
      let bytes = try System.read(directory + "/" + name, list.length)
      var manifest = Manifest()
      var end = 0
      while let record = WriteAheadLog.record(bytes, at: end, keeping: bytes.count) {
        guard manifest.apply(record.head) else { return }
        end = record.end
      }
      guard end > 0, end < bytes.count, !WriteAheadLog.hasRecord(bytes, after: end) else { return }
      let sorted = all.map(\.name).filter { $0.hasSuffix(".sst") }
      guard try manifest.isWhole(with: WriteAheadLog.logs(directory), sorted, directory) else {
        return
      }
      try System.cut(directory + "/" + name, to: end)
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
      var manifest = Manifest()
      var end = 0
      while let record = WriteAheadLog.record(bytes, at: end, keeping: bytes.count) {
        guard manifest.apply(record.head) else { return }
        end = record.end
      }
      let sorted = all.map(\.name).filter { $0.hasSuffix(".sst") }
      guard end > 0, end == bytes.count,
        try manifest.isWhole(with: WriteAheadLog.logs(directory), sorted, directory)
      else { return }
      try System.write(Bytes((list.name + "\n").utf8), to: directory + "/CURRENT.draft")
      try System.rename(directory + "/CURRENT.draft", to: directory + "/CURRENT")
    }

    /// Whether sorted files and logs hold all that was ever synced: the listed files exist, the
    /// oldest log begins where they end, and if there is no log, no other sorted file exists.
    private func isWhole(
      with logs: [(name: String, length: Int)], _ sorted: [String], _ directory: String
    ) throws(StoreError) -> Bool {
      let there = Set(sorted.compactMap { UInt64($0.dropLast(4)) })
      guard files.isSubset(of: there) else { return false }
      for log in logs {
        let head = try System.read(directory + "/" + log.name, log.length)
        guard let first = WriteAheadLog.record(head, at: 0)?.head else { continue }
        guard let note = WriteAheadLog.Note(first) else { return false }
        return note.base <= newest
      }
      return there == files
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
      case 2, 3, 4, 9, 10, 203: return reader.varint() != nil
      case 5: return reader.varint() != nil && reader.sized() != nil
      case 6:
        guard reader.varint() != nil, let file = reader.varint() else { return false }
        files.remove(file)
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
