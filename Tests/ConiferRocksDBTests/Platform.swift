#if RocksDB
  // Files and processes, for the tests.

  import ConiferKeyValue

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Calls on the files of a directory, which holds no other directories.
  enum Files {
    static func names(_ directory: String) -> [String] {
      guard let stream = opendir(directory) else { return [] }
      defer { closedir(stream) }
      var names: [String] = []
      while let entry = readdir(stream) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) {
          String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != ".", name != ".." { names.append(name) }
      }
      return names.sorted()
    }

    static func remove(_ path: String) { unlink(path) }
    static func makeDirectory(_ path: String) { mkdir(path, 0o700) }

    /// The name of this computer.
    static func hostName() -> Bytes {
      var name = [CChar](repeating: 0, count: 256)
      gethostname(&name, 255)
      return name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    }

    /// Dies as a process does that the system kills.
    static func die() { kill(getpid(), SIGKILL) }
  }
#endif
