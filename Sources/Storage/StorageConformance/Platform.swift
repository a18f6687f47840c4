// What differs between operating systems for the kit: temporary directories, files, the
// environment, and the table of locks.

internal import ConiferKeyValue
internal import ConiferStorage

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// Calls of the operating system that the kit needs.
enum System {
  /// Kills this process, now.
  static func die() { raise(SIGKILL) }

  /// Kills this process after some microseconds.
  static func die(after delay: UInt32) {
    Task.detached {
      usleep(delay)
      raise(SIGKILL)
    }
  }

  /// Appends a line to a file in one call, so that it is there whole or not at all; makes the file.
  static func append(_ line: String, to path: String) throws {
    let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    defer { if file >= 0 { close(file) } }
    let bytes = Bytes((line + "\n").utf8)
    guard file >= 0, Self.write(file, bytes) == bytes.count else {
      throw ConformanceFailure("The kit could not write \(path) (errno \(errno)).")
    }
  }

  private static func write(_ file: Int32, _ bytes: Bytes) -> Int {
    #if canImport(Darwin)
      Darwin.write(file, bytes, bytes.count)
    #elseif canImport(Glibc)
      Glibc.write(file, bytes, bytes.count)
    #elseif canImport(Musl)
      Musl.write(file, bytes, bytes.count)
    #endif
  }

  /// How many processors there are.
  static var processors: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

  /// The number of this process.
  static var processID: Int32 { getpid() }

  /// Whether lent bytes equal a byte string; fast in debug builds too.
  static func isEqual(_ span: RawSpan, _ bytes: Bytes) -> Bool {
    guard span.byteCount == bytes.count else { return false }
    if bytes.isEmpty { return true }
    return span.withUnsafeBytes { lent in
      bytes.withUnsafeBytes { own in
        guard let a = lent.baseAddress, let b = own.baseAddress else { return false }
        return memcmp(a, b, own.count) == 0
      }
    }
  }

  /// A variable of the environment.
  static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// Makes an empty directory of its own under `TMPDIR` or `/tmp`.
  ///
  /// - Parameter isFast: whether nothing in it needs to be durable, so that a directory in memory
  ///   will do.
  static func makeTemporaryDirectory(isFast: Bool = false) throws -> String {
    let memory = "/dev/shm"
    let usual = isFast && access(memory, W_OK) == 0 ? memory : "/tmp"
    var template = Array(((variable("TMPDIR") ?? usual) + "/conifer-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else {
      throw ConformanceFailure(
        "No temporary directory could be made (errno \(errno)); point TMPDIR to a writable one.")
    }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Makes a directory.
  static func makeDirectory(_ path: String) throws {
    if mkdir(path, 0o700) != 0 {
      throw ConformanceFailure("The directory \(path) could not be made (errno \(errno)).")
    }
  }

  /// The names in a directory, in order; none where it cannot be read.
  static func names(in directory: String) -> [String] {
    (try? Directory.names(in: directory)) ?? []
  }

  /// Removes a directory with all that is in it.
  static func removeTree(_ path: String) {
    for name in names(in: path) {
      let inner = path + "/" + name
      if unlink(inner) != 0 { removeTree(inner) }
    }
    rmdir(path)
  }

  /// The paths below a directory that this process has open; empty where the system cannot list
  /// them.
  static func openFiles(under directory: String) -> [String] {
    names(in: "/proc/self/fd").compactMap { name in
      var target = [UInt8](repeating: 0, count: 4096)
      let count = target.withUnsafeMutableBytes { room in
        room.baseAddress.map { readlink("/proc/self/fd/" + name, $0, room.count) } ?? -1
      }
      guard count > 0 else { return nil }
      let path = String(decoding: target.prefix(count), as: UTF8.self)
      return path.hasPrefix(directory + "/") ? path : nil
    }.sorted()
  }

  /// Whether a path is a directory.
  static func isDirectory(_ path: String) -> Bool {
    var info = stat()
    return stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
  }

  /// A file's content.
  static func content(of path: String) throws -> Bytes {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    defer { if file >= 0 { close(file) } }
    var info = stat()
    guard file >= 0, fstat(file, &info) == 0 else {
      throw ConformanceFailure("The kit could not read \(path) (errno \(errno)).")
    }
    var bytes = Bytes(repeating: 0, count: Int(info.st_size))
    let count = pread(file, &bytes, bytes.count, 0)
    guard count == bytes.count else {
      throw ConformanceFailure("The kit read \(count) of \(bytes.count) bytes of \(path).")
    }
    return bytes
  }

  /// A file's lines; none when there is no such file.
  static func lines(of path: String) throws -> [Substring] {
    guard access(path, F_OK) == 0 else { return [] }
    return String(decoding: try content(of: path), as: UTF8.self).split(separator: "\n")
  }

  /// Replaces a file's content, with a hole where it ends in zeros; makes the file.
  static func write(_ content: FileBytes, to path: String) throws {
    try write(content.bytes, to: path)
    guard content.length > content.bytes.count else { return }
    if truncate(path, off_t(content.length)) != 0 {
      throw ConformanceFailure("The kit could not write \(path) (errno \(errno)).")
    }
  }

  /// Replaces a file's content; makes the file.
  static func write(_ bytes: Bytes, to path: String) throws {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    defer { if file >= 0 { close(file) } }
    guard file >= 0, pwrite(file, bytes, bytes.count, 0) == bytes.count else {
      throw ConformanceFailure("The kit could not write \(path) (errno \(errno)).")
    }
  }

  /// The lines of the system's lock table that last: a program that is being started briefly has
  /// copies of all open files.
  static func lastingLocks(under directory: String) -> [String]? {
    var found = locks(under: directory)
    for _ in 0..<100 where found?.isEmpty == false {
      pause()
      found = locks(under: directory)
    }
    return found
  }

  /// The lines of the system's lock table that name a file under a directory; nil when the system
  /// shows no such table.
  static func locks(under directory: String) -> [String]? {
    #if canImport(Darwin)
      return nil
    #else
      let file = open("/proc/locks", O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { return nil }
      defer { close(file) }
      var text = Bytes()
      var chunk = Bytes(repeating: 0, count: 1 << 16)
      while true {
        let count = read(file, &chunk, chunk.count)
        guard count > 0 else { break }
        text += chunk[..<count]
      }
      // Most tables name none of the files, and parsing them is slow where many stores are open.
      let files = identities(under: directory).filter { file in
        (text + [0]).withUnsafeBytes { table in
          guard let start = table.bindMemory(to: CChar.self).baseAddress else { return false }
          return strstr(start, " \(file) ") != nil
        }
      }
      if files.isEmpty { return [] }
      return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init).filter {
        line in
        // "1: POSIX ADVISORY WRITE 4711 08:01:1234 0 EOF", device in hex, inode in decimal.
        line.split(separator: " ").contains { files.contains(String($0)) }
      }
    #endif
  }

  #if !canImport(Darwin)
    private static func identities(under directory: String) -> Set<String> {
      var found: Set<String> = []
      for name in names(in: directory) {
        var info = stat()
        guard stat(directory + "/" + name, &info) == 0 else { continue }
        if info.st_mode & S_IFMT == S_IFDIR {
          found.formUnion(identities(under: directory + "/" + name))
        }
        let device = UInt64(info.st_dev)
        let major = (device >> 8) & 0xFFF | (device >> 32) & 0xFFFF_F000
        let minor = device & 0xFF | (device >> 12) & 0xFFFF_FF00
        found.insert("\(hex(major)):\(hex(minor)):\(info.st_ino)")
      }
      return found
    }

    private static func hex(_ number: UInt64) -> String {
      let text = String(number, radix: 16)
      return text.count < 2 ? "0" + text : text
    }
  #endif
}
