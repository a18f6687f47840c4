#if RocksDB
  internal import CRocksDB
  internal import ConiferKeyValue
  internal import ConiferStorage

  /// The list of RocksDB's files, with lengths, that an orderly close writes, so that the next
  /// opening notices a file that was truncated, changed or lost meanwhile.
  ///
  /// RocksDB treats a manifest that ends early as torn by a crash, and a missing log as empty, and
  /// would open an older state. After a crash there is no list, and only RocksDB's own checks
  /// apply.
  enum Inventory {
    static let name = "conifer.files"
    static let draft = "conifer.files.new"
    private static let title = "Conifer RocksDB files 1"

    /// Lists the files of a closed store.
    ///
    /// - Throws: `denied`, `full`, `io`; then there is no list, which is harmless.
    static func write(_ directory: String) throws(StoreError) {
      var text = title + "\n"
      for file in try System.files(in: directory) where isListed(file.name) {
        text += "\(file.name) \(file.length) \(try sum(of: file, directory))\n"
      }
      text += "\(checksum(Bytes(text.utf8)))\n"
      do throws(StoreError) {
        try System.write(Bytes(text.utf8), to: directory + "/" + draft)
        try System.rename(directory + "/" + draft, to: directory + "/" + name)
      } catch {
        try? System.remove(directory + "/" + draft)
        throw error
      }
    }

    /// Compares the files with the list, if there is one.
    ///
    /// - Returns: whether there was a list, so that the store was closed in order.
    /// - Throws: `damaged`, `denied`, `io`.
    static func check(_ directory: String) throws(StoreError) -> Bool {
      let files = try System.files(in: directory)
      guard let list = files.first(where: { $0.name == name }) else { return false }
      let bytes = try System.read(directory + "/" + name, list.length)
      guard let end = bytes.dropLast().lastIndex(of: 10),
        bytes[(end + 1)...].elementsEqual("\(checksum(Bytes(bytes[...end])))\n".utf8)
      else { return false }
      var lengths: [String: Int] = [:]
      for file in files { lengths[file.name] = file.length }
      let lines = String(decoding: bytes[...end], as: UTF8.self).split(separator: "\n")
      guard lines.first == Substring(title) else { return false }
      for line in lines.dropFirst() {
        let parts = line.split(separator: " ")
        guard parts.count == 3, let length = Int(parts[1]) else { continue }
        let name = String(parts[0])
        guard let found = lengths[name] else {
          throw .rocksDBDamaged(directory, "\(name) is missing")
        }
        guard found == length else {
          throw .rocksDBDamaged(directory, "\(name) has \(found) of \(length) bytes")
        }
        guard try sum(of: (name, length), directory) == parts[2] else {
          throw .rocksDBDamaged(directory, "\(name) was changed since the store was closed")
        }
      }
      return true
    }

    /// Removes the list durably before anything changes, so that it never names files that no
    /// longer exist.
    ///
    /// - Throws: `denied`, `io`.
    static func remove(_ directory: String) throws(StoreError) {
      try System.remove(directory + "/" + name)
      try Platform.syncDirectory(directory)
    }

    private static func isListed(_ name: String) -> Bool {
      name == "CURRENT" || name.hasPrefix("MANIFEST-") || name.hasSuffix(".sst")
        || name.hasSuffix(".log")
    }

    /// The checksum of a file in which RocksDB does not notice every change; "-" for sorted files,
    /// whose blocks have checksums.
    ///
    /// - Throws: `io` when the file cannot be read, which is no damage.
    private static func sum(
      of file: (name: String, length: Int), _ directory: String
    ) throws(StoreError) -> String {
      if file.name.hasSuffix(".sst") { return "-" }
      return checksum(try System.read(directory + "/" + file.name, file.length))
    }

    private static func checksum(_ bytes: Bytes) -> String {
      bytes.withUnsafeBytes { String(conifer_crc32c(0, $0.baseAddress, $0.count), radix: 16) }
    }
  }
#endif
