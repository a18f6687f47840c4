#if RocksDB
  internal import ConiferKeyValue
  internal import ConiferStorage

  /// The small text file that marks a directory as a store of this kind, and names its format.
  ///
  /// It is read before RocksDB opens anything, since RocksDB changes a directory by opening it.
  /// While a store is being made the file has another name: with the final name the store is
  /// complete.
  enum Marker {
    static let name = "conifer.rocksdb"
    static let draft = "conifer.rocksdb.new"
    /// The format that this code writes and reads.
    static let format = 1
    /// The list of files and the reserve are made for a store that is complete.
    static let files = StoreFiles(
      kind: "rocksdb", main: name, later: [Inventory.name, Reserve.name])
    private static let magic = Bytes("Conifer RocksDB\nformat ".utf8)

    /// The content of a directory.
    enum State {
      case store
      case nothing
    }

    static func text(format: Int) -> Bytes { magic + Bytes("\(format)\n".utf8) }

    /// Determines whether a directory has a store. It only removes leftovers of an interrupted
    /// creation.
    ///
    /// - Throws: `foreign`, `newerFormat`, `damaged`, `denied`, `io`.
    static func inspect(_ directory: String) throws(StoreError) -> State {
      let files = try System.files(in: directory)
      if files.contains(where: { $0.name == name }) {
        try check(directory, min(256, files.first { $0.name == name }?.length ?? 0))
        guard files.contains(where: { $0.name == "CURRENT" }) else {
          throw .rocksDBDamaged(directory, "CURRENT is missing")
        }
        return .store
      }
      let theirs = files.map(\.name).filter(isRocksDB)
      guard files.contains(where: { $0.name == draft }) else {
        guard theirs.isEmpty else {
          throw StoreError(
            .foreign,
            "The RocksDB database in \(directory) was not made by Conifer. "
              + "Use another directory for the store.", cause: "there is no \(name) beside it")
        }
        return .nothing
      }
      // This store was never opened, so nothing was ever stored in it.
      for file in theirs { try System.remove(directory + "/" + file) }
      return .nothing
    }

    private static func check(_ directory: String, _ length: Int) throws(StoreError) {
      let path = directory + "/" + name
      let found = try System.read(path, length)
      guard found.starts(with: magic) else {
        if magic.starts(with: found) { throw .rocksDBDamaged(directory, "\(name) was cut") }
        throw StoreError(
          .foreign, "\(path) was not made by Conifer. Use another directory for the store.")
      }
      let digits = found[magic.count...].prefix { (48...57).contains($0) }
      guard let version = Int(String(decoding: digits, as: UTF8.self)), version > 0,
        found.count > magic.count + digits.count
      else { throw .rocksDBDamaged(directory, "\(name) names no format") }
      guard version <= format else { throw newer(directory, version) }
    }

    static func newer(_ directory: String, _ version: Int) -> StoreError {
      StoreError(
        .newerFormat,
        "The store in \(directory) has format \(version); this version of Conifer reads up to "
          + "\(format). Update Conifer to open it.")
    }

    /// Marks a directory in which RocksDB will create its files.
    static func begin(_ directory: String) throws(StoreError) {
      try System.write(text(format: format), to: directory + "/" + draft)
      try Platform.syncDirectory(directory)
    }

    /// Marks the store as complete.
    static func finish(_ directory: String) throws(StoreError) {
      try System.rename(directory + "/" + draft, to: directory + "/" + name)
    }

    /// Whether a name is that of a file of a store, RocksDB's own among them.
    @Sendable static func isName(_ file: String) -> Bool {
      [name, draft, Inventory.name, Inventory.draft, Manifest.draft, Reserve.name].contains(file)
        || isRocksDB(file)
    }

    /// Whether a name is one of RocksDB's file names.
    static func isRocksDB(_ name: String) -> Bool {
      name == "CURRENT" || name == "IDENTITY" || name == "LOCK" || name == "LOG"
        || name.hasPrefix("LOG.old.") || name.hasPrefix("MANIFEST-") || name.hasPrefix("OPTIONS-")
        || ((name.hasSuffix(".sst") || name.hasSuffix(".log") || name.hasSuffix(".dbtmp"))
          && name.utf8.prefix(6).allSatisfy { (48...57).contains($0) })
    }
  }
#endif
