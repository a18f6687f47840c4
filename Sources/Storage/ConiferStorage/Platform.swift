// What differs between operating systems, for the stores that keep files: error numbers, syncing,
// directories, and who this process is.

public import ConiferKeyValue
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// Calls of the operating system that more than one store makes.
package enum Platform {
  /// The number of this process; another one in the child of a fork.
  package static var processID: Int32 { getpid() }

  /// A number that differs between a process and the child of its fork; reading it makes no system call.
  package static var processStamp: Int {
    countsForks ? forks.load(ordering: .relaxed) : Int(getpid())
  }

  private static let forks = Atomic(0)
  private static let countsForks = {
    // Made before any fork, as a child may not wait for locks.
    _ = forks.load(ordering: .relaxed)
    return pthread_atfork(nil, nil) { Platform.forks.add(1, ordering: .relaxed) } == 0
  }()

  /// The store error for an error number of the operating system.
  ///
  /// - Parameters:
  ///   - number: an `errno`.
  ///   - action: what was tried, as "open the file".
  ///   - path: on which file.
  package static func error(_ number: Int32, _ action: String, _ path: String) -> StoreError {
    let cause = String(cString: strerror(number))
    switch number {
    case EACCES, EPERM:
      return StoreError(
        .denied,
        "The system does not let this process \(action) \(path). "
          + "Give its user read and write access to the file and its directory.",
        cause: cause)
    case EROFS:
      return StoreError(
        .denied,
        "The file system of \(path) is read-only, so this process cannot \(action) there. "
          + "Put the store on a writable volume.", cause: cause)
    case ENOSPC, EDQUOT:
      return StoreError(
        .full,
        "No space is left to \(action) \(path). Free disk space or quota, then try again; "
          + "what is open can be read meanwhile.", cause: cause)
    default:
      return StoreError(
        .io, "The system could not \(action) \(path). Check the volume and the path.", cause: cause)
    }
  }

  /// Makes a directory and those above it that are missing, and syncs the parent of each new one,
  /// so that the directory outlives a power cut.
  ///
  /// - Throws: `denied`, `full`, `io`, `foreign` when a file stands there.
  package static func makeDirectory(_ path: String) throws(StoreError) {
    var info = stat()
    if stat(path, &info) == 0 {
      guard info.st_mode & S_IFMT == S_IFDIR else {
        throw StoreError(.foreign, "\(path) is a file; a store is a directory. Use another path.")
      }
      return
    }
    let parent = Self.parent(of: path)
    if parent != path { try makeDirectory(parent) }
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      throw error(errno, "make the directory", path)
    }
    try syncDirectory(parent)
  }

  /// The path of the parent directory; "." or "/" for the last one.
  package static func parent(of path: String) -> String {
    var units = Array(path.utf8)
    while units.count > 1, units.last == UInt8(ascii: "/") { units.removeLast() }
    guard let slash = units.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    if slash == 0 { return "/" }
    return String(decoding: units[..<slash], as: UTF8.self)
  }

  /// Makes new, renamed and removed names of a directory survive power loss.
  ///
  /// - Parameter isFull: whether nothing that follows empties the drive's buffer, in which a plain sync leaves them on
  ///   Apple systems.
  /// - Throws: `denied`, `full`, `io`.
  package static func syncDirectory(
    _ path: String, isFull: Bool = false
  ) throws(StoreError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw error(errno, "open the directory", path) }
    defer { _ = Self.close(descriptor) }
    #if canImport(Darwin)
      if isFull {
        let number = sync(descriptor)
        guard number == 0 || number == EINVAL else {
          throw error(number, "sync the directory", path)
        }
        return
      }
    #endif
    // Some file systems cannot sync a directory and return EINVAL, which is ignored.
    if fsync(descriptor) != 0, errno != EINVAL { throw error(errno, "sync the directory", path) }
  }

  /// Makes the written bytes of a file survive power loss: `F_FULLFSYNC` on Apple systems, where
  /// `fsync` leaves them in the drive's buffer, `fdatasync` elsewhere.
  ///
  /// - Returns: zero or an `errno`.
  package static func sync(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
      return sync(
        fully: { fcntl(descriptor, F_FULLFSYNC) == 0 ? 0 : errno },
        plainly: { fsync(descriptor) == 0 ? 0 : errno })
    #else
      return fdatasync(descriptor) == 0 ? 0 : errno
    #endif
  }

  /// Syncs fully. A plain sync is used only on a volume that does not support the full sync, as
  /// some network volumes do not; there it is the strongest sync. Any other failure is returned.
  ///
  /// - Returns: zero or an `errno`.
  static func sync(fully: () -> Int32, plainly: () -> Int32) -> Int32 {
    let number = fully()
    return number == ENOTSUP || number == EINVAL ? plainly() : number
  }

  /// Makes an open file at least as long as given, with space reserved on the medium if the system
  /// supports that.
  ///
  /// - Returns: zero or an `errno`; `ENOSPC` or `EDQUOT` when there is no room.
  package static func allocate(_ descriptor: Int32, _ length: Int) -> Int32 {
    var info = stat()
    guard fstat(descriptor, &info) == 0 else { return errno }
    guard Int(info.st_size) < length else { return 0 }
    #if canImport(Darwin)
      var store = fstore_t(
        fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0,
        fst_length: off_t(length) - info.st_size, fst_bytesalloc: 0)
      if fcntl(descriptor, F_PREALLOCATE, &store) != 0, meansFull(errno) { return errno }
    #else
      var number: Int32
      repeat {
        number = posix_fallocate(descriptor, info.st_size, off_t(length) - info.st_size)
      } while number == EINTR
      // File systems that cannot reserve space return EINVAL or EOPNOTSUPP.
      if number != EINVAL, number != EOPNOTSUPP { return number }
    #endif
    return ftruncate(descriptor, off_t(length)) == 0 ? 0 : errno
  }

  /// Whether an error number says that the disk or the quota is full.
  package static func meansFull(_ number: Int32) -> Bool { number == ENOSPC || number == EDQUOT }

  /// Closes a descriptor; on the systems here it is gone even when the call reports `EINTR`.
  @discardableResult
  package static func close(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
      return Darwin.close(descriptor)
    #elseif canImport(Glibc)
      return Glibc.close(descriptor)
    #elseif canImport(Musl)
      return Musl.close(descriptor)
    #endif
  }

  /// Up to `limit` bytes of a file from an offset, nil when it cannot be opened or read.
  package static func read(_ path: String, at offset: Int = 0, limit: Int) -> Bytes? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    return read(descriptor, at: offset, limit: limit)
  }

  /// Up to `limit` bytes of an open file from an offset, nil on an error.
  package static func read(_ descriptor: Int32, at offset: Int, limit: Int) -> Bytes? {
    var failed = false
    let bytes = Bytes(unsafeUninitializedCapacity: limit) { buffer, count in
      while count < limit {
        let rest = buffer.baseAddress.map { $0 + count }
        let n = pread(descriptor, rest, limit - count, off_t(offset + count))
        if n < 0, errno == EINTR { continue }
        if n < 0 { failed = true }
        if n <= 0 { break }
        count += n
      }
    }
    return failed ? nil : bytes
  }

  /// A number that identifies the calling thread among all running threads. It is read each time:
  /// the compiler assumes that `pthread_self` is constant, even in an async function that continues
  /// on another thread. 0 when the system has no memory for it.
  package static var thread: UInt {
    guard let key = threadKey else { return 0 }
    if let known = pthread_getspecific(key) { return UInt(bitPattern: known) }
    guard let mark = malloc(1) else { return 0 }
    guard pthread_setspecific(key, mark) == 0 else {
      free(mark)
      return 0
    }
    return UInt(bitPattern: mark)
  }

  private static let threadKey: pthread_key_t? = {
    var key = pthread_key_t()
    return pthread_key_create(&key) { free($0) } == 0 ? key : nil
  }()

  /// A text that tells a process from a later one with the same number: the boot, and where the
  /// system says it, the start time.
  package static func processStart(_ pid: Int32) -> String {
    #if canImport(Darwin)
      var buffer = [CChar](repeating: 0, count: 64)
      var size = buffer.count
      guard sysctlbyname("kern.bootsessionuuid", &buffer, &size, nil, 0) == 0 else { return "-" }
      return word(buffer.map { UInt8(bitPattern: $0) })
    #else
      let boot = read("/proc/sys/kernel/random/boot_id", limit: 64).map(word) ?? "-"
      // The command, field 2, may hold spaces and parentheses: count from its last parenthesis,
      // behind which comes field 3; the start time is field 22.
      guard let line = read("/proc/\(pid)/stat", limit: 2048),
        let end = line.lastIndex(of: UInt8(ascii: ")"))
      else { return boot }
      let fields = line[(end + 1)...].split(separator: UInt8(ascii: " "))
      return fields.count > 19 ? boot + "/" + word(Bytes(fields[19])) : boot
    #endif
  }

  /// The command of a running process, where the system says it.
  package static func command(_ pid: Int32) -> String? {
    #if canImport(Darwin)
      return nil
    #else
      guard let name = read("/proc/\(pid)/comm", limit: 64), !name.isEmpty else { return nil }
      return String(decoding: name.prefix { $0 != 0 && $0 != 10 }, as: UTF8.self)
    #endif
  }

  private static func word(_ bytes: Bytes) -> String {
    String(decoding: bytes.prefix { $0 > 32 && $0 < 127 }, as: UTF8.self)
  }
}

extension StoreError {
  /// The store error for an error number of the operating system, for stores that keep files.
  ///
  /// - Parameters:
  ///   - number: an `errno`.
  ///   - action: what was tried, as "open the file".
  ///   - path: on which file.
  /// - Returns: `denied`, `full` or `io`, with the remedy and the system's own words.
  public static func system(_ number: Int32, _ action: String, _ path: String) -> StoreError {
    Platform.error(number, action, path)
  }
}
