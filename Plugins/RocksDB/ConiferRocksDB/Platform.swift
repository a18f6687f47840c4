#if RocksDB
  // What differs between operating systems, as far as only this store needs it.

  internal import ConiferKeyValue
  internal import ConiferStorage

  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #endif

  /// Facts and calls of the operating system that only this target needs.
  enum System {
    /// What a commit survives at most: whether RocksDB calls `F_FULLFSYNC` on Apple systems depends
    /// on how it was built, and cannot be asked.
    #if canImport(Darwin)
      static let strongest = Durability.process
    #else
      static let strongest = Durability.power
    #endif

    /// Waits a millisecond.
    static func pause() { _ = usleep(1000) }

    /// The names and lengths of the files in a directory, by name.
    ///
    /// - Throws: `denied`, `io`.
    static func files(in directory: String) throws(StoreError) -> [(name: String, length: Int)] {
      var found: [(name: String, length: Int)] = []
      for name in try Directory.names(in: directory) {
        var info = stat()
        guard stat(directory + "/" + name, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
          continue
        }
        found.append((name, Int(info.st_size)))
      }
      return found
    }

    /// The length of a file; 0 when there is none.
    static func length(of path: String) -> Int {
      var info = stat()
      return stat(path, &info) == 0 ? Int(info.st_size) : 0
    }

    /// The bytes of a file.
    ///
    /// - Throws: `denied`, `io`; a file that cannot be read is not damaged.
    static func read(_ path: String, _ length: Int) throws(StoreError) -> Bytes {
      let file = open(path, O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { throw Platform.error(errno, "open", path) }
      defer { Platform.close(file) }
      guard let bytes = Platform.read(file, at: 0, limit: length) else {
        throw Platform.error(EIO, "read", path)
      }
      return bytes
    }

    /// Removes a file; no error if it is missing.
    ///
    /// - Throws: `denied`, `io`.
    static func remove(_ path: String) throws(StoreError) {
      if !unlink(path), errno != ENOENT { throw Platform.error(errno, "remove", path) }
    }

    /// Removes a file; false when there was none or it could not be removed.
    static func unlink(_ path: String) -> Bool {
      #if canImport(Darwin)
        Darwin.unlink(path) == 0
      #elseif canImport(Glibc)
        Glibc.unlink(path) == 0
      #elseif canImport(Musl)
        Musl.unlink(path) == 0
      #endif
    }

    /// Makes a file at least so long, with space on the volume.
    ///
    /// - Throws: `denied`, `full`, `io`.
    static func allocate(_ path: String, _ length: Int) throws(StoreError) {
      let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
      guard file >= 0 else { throw Platform.error(errno, "make", path) }
      defer { Platform.close(file) }
      let code = Platform.allocate(file, length)
      if code != 0 { throw Platform.error(code, "lengthen", path) }
    }

    /// Gives a file its final name, so that it survives power loss under it.
    ///
    /// - Throws: `denied`, `full`, `io`.
    static func rename(_ old: String, to new: String) throws(StoreError) {
      #if canImport(Darwin)
        let result = Darwin.rename(old, new)
      #elseif canImport(Glibc)
        let result = Glibc.rename(old, new)
      #elseif canImport(Musl)
        let result = Musl.rename(old, new)
      #endif
      guard result == 0 else { throw Platform.error(errno, "rename", old) }
      try Platform.syncDirectory(Platform.parent(of: new))
    }

    /// Writes a small file and syncs it; its name is not yet durable.
    ///
    /// - Throws: `denied`, `full`, `io`.
    static func write(_ bytes: Bytes, to path: String) throws(StoreError) {
      let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
      guard file >= 0 else { throw Platform.error(errno, "make", path) }
      defer { Platform.close(file) }
      var done = 0
      while done < bytes.count {
        let count = bytes[done...].withUnsafeBytes {
          pwrite(file, $0.baseAddress, $0.count, off_t(done))
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw Platform.error(count < 0 ? errno : EIO, "write", path) }
        done += count
      }
      let code = Platform.sync(file)
      if code != 0 { throw Platform.error(code, "sync", path) }
    }

    /// Truncates a file durably.
    ///
    /// - Throws: `denied`, `full`, `io`.
    static func cut(_ path: String, to length: Int) throws(StoreError) {
      let file = open(path, O_WRONLY | O_CLOEXEC)
      guard file >= 0 else { throw Platform.error(errno, "open", path) }
      defer { Platform.close(file) }
      guard ftruncate(file, off_t(length)) == 0 else { throw Platform.error(errno, "cut", path) }
      let code = Platform.sync(file)
      if code != 0 { throw Platform.error(code, "sync", path) }
    }

    /// Makes the bytes of a file survive power loss.
    ///
    /// - Throws: `denied`, `io`; `io` also when there is no space for them.
    static func sync(_ path: String) throws(StoreError) {
      let file = open(path, O_WRONLY | O_CLOEXEC)
      guard file >= 0 else { throw Platform.error(errno, "open", path) }
      defer { Platform.close(file) }
      let code = Platform.sync(file)
      guard code == 0 else {
        throw Platform.error(Platform.meansFull(code) ? EIO : code, "sync", path)
      }
    }

    /// The bytes of a volume that this process may still use; nil when the system does not say.
    static func room(at path: String) -> Int? {
      var info = statvfs()
      guard statvfs(path, &info) == 0 else { return nil }
      let (bytes, overflow) = Int(info.f_bavail).multipliedReportingOverflow(by: Int(info.f_frsize))
      return overflow ? nil : bytes
    }
  }
#endif
