#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// What differs between operating systems, and the few system calls that the tool makes itself.
enum Platform {
  static let standardInput: Int32 = 0
  static let standardOutput: Int32 = 1
  static let standardError: Int32 = 2

  /// Ends the process by a signal, as if nobody had caught it.
  static func end(by number: Int32) {
    signal(number, SIG_DFL)
    kill(getpid(), number)
  }

  /// Ends the process.
  static func exit(_ status: Int32) -> Never {
    #if canImport(Darwin)
      Darwin.exit(status)
    #elseif canImport(Glibc)
      Glibc.exit(status)
    #elseif canImport(Musl)
      Musl.exit(status)
    #endif
  }

  /// Raises the limit of open files to the most that the process may have: each connection of a
  /// server is an open file.
  static func raiseOpenFileLimit() {
    #if canImport(Glibc)
      let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let kind = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    guard getrlimit(kind, &limit) == 0 else { return }
    #if canImport(Darwin)
      // Larger input is refused, whatever the limit.
      limit.rlim_cur = min(limit.rlim_max, rlim_t(OPEN_MAX))
    #else
      limit.rlim_cur = limit.rlim_max
    #endif
    // A refusal leaves the server with what it has.
    _ = setrlimit(kind, &limit)
  }

  /// The process that started this one, or whoever took its place.
  static var parent: Int32 { getppid() }

  static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// Milliseconds since 1970.
  static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// The failure that `errno` stands for.
  static func failure(_ what: String) -> Failure {
    let number = errno
    let words = "\(what): \(String(cString: strerror(number)))."
    switch number {
    case ENOENT, ENOTDIR, EISDIR: return Failure("no-input", .missing, words)
    case EACCES, EPERM, EROFS: return Failure("denied", .denied, words)
    case ENOSPC, EDQUOT: return Failure("full", .full, words)
    default: return Failure("io", .io, words)
    }
  }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Whether there is surely nothing at a path; false when the system does not let us look.
  static func isMissing(_ path: String) -> Bool { access(path, F_OK) != 0 && errno == ENOENT }

  // MARK: Files

  /// - Parameter waits: whether a pipe's other end is waited for.
  static func openForReading(_ path: String, waits: Bool = true) throws(Failure) -> Int32 {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK))
    guard descriptor >= 0 else { throw failure("\(path) cannot be read") }
    return descriptor
  }

  static func openForWriting(_ path: String) throws(Failure) -> Int32 {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw failure("\(path) cannot be written") }
    return descriptor
  }

  /// Truncates an open regular file, to rewrite it; false when it is not a regular file.
  static func empty(_ descriptor: Int32) -> Bool {
    size(descriptor) != nil && ftruncate(descriptor, 0) == 0 && lseek(descriptor, 0, SEEK_SET) == 0
  }

  static func closeFile(_ descriptor: Int32) { _ = close(descriptor) }

  static func rewind(_ descriptor: Int32) throws(Failure) {
    guard lseek(descriptor, 0, SEEK_SET) == 0 else {
      throw failure("The file cannot be read twice")
    }
  }

  /// Appends the next bytes of a file to a buffer.
  ///
  /// - Returns: false at the end.
  static func read(
    _ descriptor: Int32, atMost count: Int, into buffer: inout [UInt8]
  ) throws(Failure) -> Bool {
    var got = -1
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
      repeat {
        got = systemRead(descriptor, UnsafeMutableRawBufferPointer(bytes))
      } while got < 0 && errno == EINTR
      filled = max(got, 0)
    }
    guard got >= 0 else { throw failure("Reading failed") }
    if buffer.isEmpty { buffer = bytes } else { buffer += bytes }
    return got > 0
  }

  /// Waits until something can be read, the end included.
  ///
  /// - Parameter limit: for how long, at most some weeks.
  /// - Returns: whether it can.
  static func canRead(_ descriptor: Int32, within limit: Duration) throws(Failure) -> Bool {
    let end = ContinuousClock.now.advanced(by: limit)
    while true {
      let left = ContinuousClock.now.duration(to: end)
      guard left > .zero else { return false }
      var one = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let milliseconds = Int32(clamping: Int64(left / .milliseconds(1)) + 1)
      let count = poll(&one, 1, milliseconds)
      if count > 0 { return true }
      guard count == 0 || errno == EINTR else { throw failure("Waiting for output failed") }
    }
  }

  private static func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer) -> Int
  {
    #if canImport(Darwin)
      Darwin.read(descriptor, bytes.baseAddress, bytes.count)
    #elseif canImport(Glibc)
      Glibc.read(descriptor, bytes.baseAddress, bytes.count)
    #elseif canImport(Musl)
      Musl.read(descriptor, bytes.baseAddress, bytes.count)
    #endif
  }

  /// Writes all bytes.
  static func write(_ bytes: [UInt8], to descriptor: Int32) throws(Failure) {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { all in
        systemWrite(descriptor, UnsafeRawBufferPointer(rebasing: all[done...]))
      }
      if count < 0 {
        if errno == EINTR { continue }
        throw failure("Writing failed")
      }
      done += count
    }
  }

  private static func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
      Darwin.write(descriptor, bytes.baseAddress, bytes.count)
    #elseif canImport(Glibc)
      Glibc.write(descriptor, bytes.baseAddress, bytes.count)
    #elseif canImport(Musl)
      Musl.write(descriptor, bytes.baseAddress, bytes.count)
    #endif
  }

  /// The directory for temporary files.
  static var temporaryRoot: String {
    var root = environment("TMPDIR") ?? "/tmp"
    while root.count > 1, root.hasSuffix("/") { root.removeLast() }
    return root
  }

  /// A fresh directory for temporary files.
  static func temporaryDirectory(prefix: String) throws(Failure) -> String {
    let root = temporaryRoot
    var template = Array("\(root)/\(prefix)-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw failure("No directory can be made in \(root)") }
    return template.withUnsafeBufferPointer { text in
      text.baseAddress.map { String(cString: $0) } ?? root
    }
  }
}
