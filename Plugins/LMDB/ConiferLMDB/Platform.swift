// What differs between operating systems for LMDB.

internal import ConiferKeyValue

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// Facts and calls of the operating system that only this target needs.
enum System {
  /// What a commit survives at most.
  ///
  /// LMDB 0.9 syncs by plain `fsync` on Apple systems and writes its meta page through an `O_DSYNC`
  /// descriptor, so a power cut may leave a new meta page over missing data there.
  #if canImport(Darwin)
    static let strongest = Durability.process
  #else
    static let strongest = Durability.power
  #endif

  /// Waits a millisecond.
  static func pause() {
    var time = timespec(tv_sec: 0, tv_nsec: 1_000_000)
    nanosleep(&time, nil)
  }

  /// The length of a file, nil when there is none, or an `errno`.
  static func length(_ path: String) -> Result<Int, Errno>? {
    var info = stat()
    if stat(path, &info) == 0 { return .success(Int(info.st_size)) }
    return errno == ENOENT ? nil : .failure(Errno(number: errno))
  }

  /// An error number of the operating system.
  struct Errno: Error {
    let number: Int32
  }

  /// Lengthens an open file when it is shorter than asked; a failure leaves it as it was.
  static func lengthen(_ descriptor: Int32, to length: Int) {
    var info = stat()
    guard fstat(descriptor, &info) == 0, Int(info.st_size) < length else { return }
    _ = ftruncate(descriptor, off_t(length))
  }

  /// The length of an open file.
  static func length(_ descriptor: Int32) -> Int? {
    var info = stat()
    return fstat(descriptor, &info) == 0 ? Int(info.st_size) : nil
  }

  /// Shortens an open file; a failure leaves it as it was.
  static func cut(_ descriptor: Int32, to length: Int) { _ = ftruncate(descriptor, off_t(length)) }

  /// Opens a file for reading, for writing too when asked; nil with `errno` set on failure.
  static func open(_ path: String, writing: Bool = false) -> Int32? {
    #if canImport(Darwin)
      let file = Darwin.open(path, (writing ? O_RDWR : O_RDONLY) | O_CLOEXEC)
    #elseif canImport(Glibc)
      let file = Glibc.open(path, (writing ? O_RDWR : O_RDONLY) | O_CLOEXEC)
    #elseif canImport(Musl)
      let file = Musl.open(path, (writing ? O_RDWR : O_RDONLY) | O_CLOEXEC)
    #endif
    return file < 0 ? nil : file
  }

  /// Sets close-on-exec, so that child processes do not inherit an open file.
  static func closeOnExec(_ descriptor: Int32) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }

  /// The last error number.
  static var lastError: Int32 { errno }

  /// Gives a file another name; zero or an `errno`.
  static func move(_ from: String, _ to: String) -> Int32 { rename(from, to) == 0 ? 0 : errno }

  /// Removes a file if it is there; zero or an `errno`.
  static func remove(_ path: String) -> Int32 {
    unlink(path) == 0 || errno == ENOENT ? 0 : errno
  }

  /// Removes an empty directory.
  static func removeDirectory(_ path: String) { _ = rmdir(path) }

  /// No such file.
  static let noEntry = ENOENT
  /// Errors of a full disk or quota: the only ones after which the store stays usable.
  static let noSpace: Set<Int32> = [ENOSPC, EDQUOT]
  /// The error number of a failing disk.
  static let failed = EIO
  /// The error number of a full disk.
  static let noSpaceError = ENOSPC
  /// Another owner holds a lock.
  static let wouldBlock: Set<Int32> = [EAGAIN, EBUSY]
  /// No memory, or no address space for the map.
  static let noMemory = ENOMEM
}
