// What differs between operating systems, as far as only this store needs it.

import ConiferKeyValue
import ConiferStorage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension Platform {
  /// Syncs an open descriptor to the medium where the library's own sync does not; nil where it
  /// does.
  ///
  /// Since macOS 12 Apple's library implements `PRAGMA fullfsync` as a barrier: writes keep their
  /// order, but may stay in the drive's buffer. This code was never compiled.
  static let customSync: CustomSync? = {
    #if canImport(Darwin)
      return { sync($0) }
    #else
      return nil
    #endif
  }()

  /// The kind of a path's entry.
  enum FileKind: Equatable {
    case missing
    case file(length: Int)
    case directory
  }

  /// The kind of a path's entry, found without opening it: closing any descriptor of a database
  /// would release SQLite's locks on it in this process.
  ///
  /// - Throws: `denied`, `io`.
  static func kind(of path: String) throws(StoreError) -> FileKind {
    var info = stat()
    guard stat(path, &info) == 0 else {
      if errno == ENOENT { return .missing }
      throw error(errno, "look at", path)
    }
    return info.st_mode & S_IFMT == S_IFDIR ? .directory : .file(length: Int(info.st_size))
  }

  /// The length of a file in bytes, 0 when it is missing.
  ///
  /// - Throws: `denied`, `io`.
  static func length(of path: String) throws(StoreError) -> Int {
    if case .file(let length) = try kind(of: path) { return length }
    return 0
  }

  /// Makes a file if it is missing, and at least so long; nothing may have it open yet.
  ///
  /// - Throws: `denied`, `full`, `io`.
  static func makeFile(_ path: String, length: Int) throws(StoreError) {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw error(errno, "make", path) }
    defer { close(descriptor) }
    let number = allocate(descriptor, length)
    if number != 0 { throw error(number, "make", path) }
  }

  /// Opens a file; negative on failure.
  static func openFile(_ path: String, writing: Bool) -> Int32 {
    open(path, (writing ? O_RDWR : O_RDONLY) | O_CLOEXEC)
  }

  /// Removes a file; no error if it is missing.
  ///
  /// - Throws: `denied`, `io`.
  static func remove(_ path: String) throws(StoreError) {
    if unlink(path) != 0, errno != ENOENT { throw error(errno, "remove", path) }
  }

  /// Makes the bytes of a file survive power loss; nothing to do when it is missing.
  ///
  /// - Throws: `denied`, `full`, `io`.
  static func syncFile(_ path: String) throws(StoreError) {
    let descriptor = openFile(path, writing: false)
    guard descriptor >= 0 else {
      if errno == ENOENT { return }
      throw error(errno, "open", path)
    }
    defer { close(descriptor) }
    let code = sync(descriptor)
    if code != 0 { throw error(code, "sync", path) }
  }

  /// Lets nobody but its owner read and write a file, as the other files of a store are.
  ///
  /// - Throws: `denied`, `io`.
  static func makePrivate(_ path: String) throws(StoreError) {
    if chmod(path, 0o600) != 0 { throw error(errno, "protect", path) }
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
    guard result == 0 else { throw error(errno, "rename", old) }
    try syncDirectory(parent(of: new))
  }

  /// Lets the thread sleep.
  static func sleep(milliseconds: UInt32) { _ = usleep(milliseconds * 1000) }

  /// Whether the system would let this process write to a file.
  static func isWritable(_ path: String) -> Bool { access(path, W_OK) == 0 }

  /// Forgets the last error number, which calls that succeed leave as it was.
  static func forgetError() { errno = 0 }

  /// Whether SQLite treats the last error number as a damaged file system.
  static var lastErrorIsOfReading: Bool { errno == EIO || errno == ENXIO || errno == ERANGE }

  /// Whether an error number means that access is denied.
  static func meansDenied(_ number: Int32) -> Bool {
    number == EACCES || number == EPERM || number == EROFS
  }
}
