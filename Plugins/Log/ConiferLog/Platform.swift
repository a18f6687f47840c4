// What differs between operating systems, as far as only this store needs it: files by descriptor,
// and allocating them ahead.

import ConiferKeyValue
import ConiferStorage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The operating system's files.
struct SystemFiles: LogFileSystem {
  func makeDirectory(_ path: String) throws(StoreError) { try Platform.makeDirectory(path) }

  func own(_ path: String) throws(StoreError) -> OwnerLock? {
    try OwnerLock(path: path, for: StoreFiles(kind: "log", main: "manifest"))
  }

  func names(in directory: String) throws(FileFailure) -> [String] {
    var names: [String] = []
    let number = Directory.list(directory, &names)
    guard number == 0 else { throw FileFailure(number) }
    return names
  }

  func open(_ path: String, _ access: FileAccess) throws(FileFailure) -> (any LogFile)? {
    let flags =
      switch access {
      case .read: O_RDONLY
      case .write: O_RDWR
      case .create: O_RDWR | O_CREAT | O_TRUNC
      }
    let descriptor = Platform.open(path, flags | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT, access != .create { return nil }
      throw FileFailure(errno)
    }
    return SystemFile(descriptor)
  }

  func rename(_ path: String, to new: String) throws(FileFailure) {
    if Platform.rename(path, new) != 0 { throw FileFailure(errno) }
  }

  func remove(_ path: String) throws(FileFailure) {
    if unlink(path) != 0, errno != ENOENT { throw FileFailure(errno) }
  }

  func syncDirectory(_ path: String) throws(FileFailure) {
    let descriptor = Platform.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileFailure(errno) }
    defer { Platform.close(descriptor) }
    // Some file systems cannot sync a directory and return EINVAL, which is ignored.
    while fsync(descriptor) != 0, errno != EINVAL {
      if errno != EINTR { throw FileFailure(errno) }
    }
  }
}

/// A file of the operating system.
private final class SystemFile: LogFile {
  private let descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { Platform.close(descriptor) }

  func length() throws(FileFailure) -> Int {
    var info = stat()
    guard fstat(descriptor, &info) == 0 else { throw FileFailure(errno) }
    return Int(info.st_size)
  }

  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFailure) -> Int {
    let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
    guard count >= 0 else { throw FileFailure(errno) }
    return count
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(FileFailure) -> Int {
    let count = pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset))
    guard count >= 0 else { throw FileFailure(errno) }
    return count
  }

  func sync() throws(FileFailure) {
    let number = Platform.sync(descriptor)
    if number != 0 { throw FileFailure(number) }
  }

  func allocate(_ length: Int) throws(FileFailure) {
    let number = Platform.allocate(descriptor, length)
    if number != 0 { throw FileFailure(number) }
  }

  func truncate(_ length: Int) throws(FileFailure) {
    if ftruncate(descriptor, off_t(length)) != 0 { throw FileFailure(errno) }
  }
}

extension Platform {
  /// Waits a millisecond.
  static func pause() {
    var time = timespec(tv_sec: 0, tv_nsec: 1_000_000)
    nanosleep(&time, nil)
  }

  fileprivate static func open(_ path: String, _ flags: Int32) -> Int32 {
    #if canImport(Darwin)
      return Darwin.open(path, flags, 0o600)
    #elseif canImport(Glibc)
      return Glibc.open(path, flags, 0o600)
    #elseif canImport(Musl)
      return Musl.open(path, flags, 0o600)
    #endif
  }

  fileprivate static func rename(_ old: String, _ new: String) -> Int32 {
    #if canImport(Darwin)
      return Darwin.rename(old, new)
    #elseif canImport(Glibc)
      return Glibc.rename(old, new)
    #elseif canImport(Musl)
      return Musl.rename(old, new)
    #endif
  }
}

extension FileFailure {
  /// Whether the disk or the quota is full.
  var meansFull: Bool { Platform.meansFull(number) }
  /// There is no room.
  static var full: FileFailure { FileFailure(ENOSPC) }
  /// A write that wrote nothing and gave no reason.
  static var nothingWritten: FileFailure { FileFailure(EIO) }
  /// Whether the call was interrupted and may be made again.
  var isInterruption: Bool { number == EINTR }

  /// The failure as a `StoreError`.
  func error(_ action: String, _ path: String) -> StoreError {
    if number == EMFILE || number == ENFILE {
      return StoreError(
        .io, "Too many files are open to \(action) \(path). Raise the limit (ulimit -n).",
        cause: String(cString: strerror(number)))
    }
    return Platform.error(number, action, path)
  }
}
