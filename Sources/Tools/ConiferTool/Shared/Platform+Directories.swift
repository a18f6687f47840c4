#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension Platform {
  /// A path from the root on without links, as far as it leads to something.
  static func absolute(_ path: String) -> String {
    if let real = realpath(path, nil) {
      defer { free(real) }
      return String(cString: real)
    }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    guard let name = parts.last, parts.count > 1 else {
      return path.isEmpty || path == "." ? path : absolute(".") + "/" + path
    }
    let parent = parts.dropLast().joined(separator: "/")
    return absolute(parent.isEmpty ? "/" : parent) + "/" + name
  }

  /// Whether a path leads to a regular file.
  static func isRegularFile(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// The bytes of a regular file; nil for what is none, or cannot be looked at.
  static func length(_ path: String) -> Int? {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(status.st_size)
  }

  /// Whether a path names a directory of this user, and no link to one.
  static func isOwnDirectory(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
      && status.st_uid == geteuid()
  }

  /// The bytes of a regular file, or nil of a pipe or device.
  static func size(_ descriptor: Int32) -> Int? {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int(status.st_size)
  }

  /// Whether an open file may be read or written by others than its owner.
  static func isShared(_ descriptor: Int32) -> Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & 0o077 != 0
  }

  static func makeDirectory(_ path: String) throws(Failure) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw failure("\(path) cannot be made")
    }
  }

  /// Gives a file or directory another name, durably.
  static func move(_ path: String, to new: String) throws(Failure) {
    guard rename(path, new) == 0 else { throw failure("\(path) cannot be renamed") }
    let parent = new.split(separator: "/", omittingEmptySubsequences: false).dropLast()
      .joined(separator: "/")
    let descriptor = open(parent.isEmpty ? (new.hasPrefix("/") ? "/" : ".") : parent, O_RDONLY)
    if descriptor >= 0 {
      _ = fsync(descriptor)
      _ = close(descriptor)
    }
  }

  /// Makes an open file's bytes survive power loss.
  static func sync(_ descriptor: Int32) throws(Failure) {
    guard fsync(descriptor) == 0 else { throw failure("Syncing failed") }
  }

  /// The bytes of a file.
  static func contents(_ path: String) throws(Failure) -> [UInt8] {
    let descriptor = try openForReading(path)
    defer { closeFile(descriptor) }
    var bytes: [UInt8] = []
    while try read(descriptor, atMost: 1 << 16, into: &bytes) {}
    return bytes
  }
}

extension Platform {
  /// Makes a directory and those above it.
  static func makeDirectories(_ path: String) throws(Failure) {
    if exists(path) { return }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    let parent = parts.joined(separator: "/")
    if !parent.isEmpty { try makeDirectories(parent) }
    try makeDirectory(path)
  }
}

extension Platform {
  /// The bytes that a user without privileges may still write on the volume of a path; nil when the
  /// system does not say.
  static func freeSpace(at path: String) -> Int? {
    var info = statvfs()
    guard statvfs(path, &info) == 0 else { return nil }
    let (bytes, isMore) = UInt64(info.f_bavail)
      .multipliedReportingOverflow(by: UInt64(info.f_frsize))
    return isMore ? .max : Int(clamping: bytes)
  }

  /// Whether this process may change a file, or make files in a directory.
  static func isWritable(_ path: String) -> Bool { access(path, W_OK) == 0 }
}
