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
    static func remove(_ path: String) { unlink(path) }
    static func makeDirectory(_ path: String) { mkdir(path, 0o700) }

    /// The name of this computer.
    static func hostName() -> Bytes {
      var name = [CChar](repeating: 0, count: 256)
      gethostname(&name, 255)
      return name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    }

    /// A variable of the environment.
    static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// Dies as a process does that the system kills.
    static func die() { kill(getpid(), SIGKILL) }
  }
#endif
