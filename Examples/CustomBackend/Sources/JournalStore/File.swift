import ConiferKeyValue
import ConiferStorage

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// An open file, and the few calls of the operating system that the store makes.
final class File: Sendable {
  /// Flags that make a file, or empty the one that is there.
  static let creating = O_RDWR | O_CREAT | O_TRUNC

  let path: String
  private let descriptor: Int32

  /// - Throws: what the system's error stands for.
  init(_ path: String, _ flags: Int32 = O_RDWR) throws(StoreError) {
    descriptor = open(path, flags | O_CLOEXEC, 0o600)
    self.path = path
    if descriptor < 0 { throw .system(errno, "open", path) }
  }

  deinit { close(descriptor) }

  func length() throws(StoreError) -> Int {
    var info = stat()
    guard fstat(descriptor, &info) == 0 else { throw .system(errno, "measure", path) }
    return Int(info.st_size)
  }

  /// All of the file.
  func read() throws(StoreError) -> Bytes {
    var bytes = Bytes(repeating: 0, count: try length())
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done, off_t(done))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .system(count < 0 ? errno : EIO, "read", path) }
      done += count
    }
    return bytes
  }

  func write(_ bytes: Bytes, at offset: Int) throws(StoreError) {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes {
        pwrite(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done, off_t(offset + done))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .system(count < 0 ? errno : EIO, "write", path) }
      done += count
    }
  }

  func cut(to length: Int) throws(StoreError) {
    guard ftruncate(descriptor, off_t(length)) == 0 else { throw .system(errno, "cut", path) }
  }

  /// Makes the file's bytes survive power loss.
  func sync() throws(StoreError) {
    #if canImport(Darwin)
      // fsync leaves them in the drive's buffer there.
      let result = fcntl(descriptor, F_FULLFSYNC)
    #else
      let result = fdatasync(descriptor)
    #endif
    guard result == 0 else { throw Self.notSynced(path) }
  }

  /// Also for want of space: `full` would say that nothing has changed.
  private static func notSynced(_ path: String) -> StoreError {
    let error = StoreError.system(errno, "sync", path)
    return error.code == .full ? StoreError(.io, error.message, cause: error.cause) : error
  }

  /// Makes new, renamed and removed names of a directory survive power loss.
  static func syncDirectory(_ path: String) throws(StoreError) {
    try withExtendedLifetime(File(path, O_RDONLY)) { (file) throws(StoreError) in
      guard fsync(file.descriptor) == 0 else { throw notSynced(path) }
    }
  }

  static func rename(_ old: String, to new: String) throws(StoreError) {
    #if canImport(Darwin)
      let result = Darwin.rename(old, new)
    #elseif canImport(Glibc)
      let result = Glibc.rename(old, new)
    #elseif canImport(Musl)
      let result = Musl.rename(old, new)
    #endif
    guard result == 0 else { throw .system(errno, "rename", old) }
  }

  static func remove(_ path: String) { unlink(path) }
  static func makeDirectory(_ path: String) { mkdir(path, 0o700) }
  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
