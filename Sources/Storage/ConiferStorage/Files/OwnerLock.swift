public import ConiferKeyValue
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

#if !canImport(Darwin)
  /// `F_OFD_SETLK` of Linux, which the C library shows under feature macros only.
  private let setOpenFileLock: Int32 = 37
#endif

/// A lock that makes one opener the only owner of a store, held in a small file beside the store's
/// data.
///
/// The kernel drops it when the owner dies, however that happens, so a file that a killed process
/// left behind blocks nobody. The file's text only names the owner, for the message to the second
/// opener; it is never removed, since removing a lock file lets two owners in. The lock belongs to
/// the open file, not to the process (an open file description lock on Linux, `flock` on Apple
/// systems): a second opener in the same process is refused too.
public final class OwnerLock: Sendable {
  /// The lock file's path.
  public let path: String
  private let descriptor: Mutex<Int32>
  private let process = Platform.processID

  /// Takes the lock, making the file when it is missing.
  ///
  /// - Parameter path: of the lock file; its directory must exist.
  /// - Throws: `busy` with the owner's name, `foreign` (a migration into the directory was cut short),
  ///   `denied`, `full`, `io`.
  public init(path: String) throws(StoreError) {
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Platform.error(errno, "open the lock file", path) }
    let number = Self.lock(file)
    guard number == 0 else {
      defer { Platform.close(file) }
      guard number == EWOULDBLOCK || number == EAGAIN || number == EACCES else {
        throw Platform.error(number, "lock", path)
      }
      throw Self.busy(path, Platform.read(file, at: 0, limit: 512) ?? [])
    }
    do throws(StoreError) {
      try UnfinishedStore.check(Platform.parent(of: path))
      if let error = Self.writeOwner(file, path) { throw error }
    } catch {
      Platform.close(file)
      throw error
    }
    self.path = path
    self.descriptor = Mutex(file)
  }

  deinit { release() }

  /// Lets go of the lock and empties the file; a second call does nothing.
  public func release() {
    let file = descriptor.withLock { held in
      let file = held
      held = -1
      return file
    }
    guard file >= 0 else { return }
    // The child of a fork shares the open file and so the lock; only the parent may release it.
    guard Platform.processID == process else {
      Platform.close(file)
      return
    }
    // The lock is still held here, so this cannot erase the next owner's name. If it fails, the
    // name is stale, which does no harm: only the kernel's lock counts.
    _ = ftruncate(file, 0)
    // The lock is released explicitly, not by closing the file: a child process that is just being
    // started holds the open file for a moment.
    Self.unlock(file)
    Platform.close(file)
  }

  /// Whether the lock is still held by this object.
  package var isHeld: Bool { descriptor.withLock { $0 >= 0 } }

  /// Tries to lock; zero or an `errno`.
  private static func lock(_ file: Int32) -> Int32 {
    while true {
      #if canImport(Darwin)
        let result = flock(file, LOCK_EX | LOCK_NB)
      #else
        var whole = flock()
        whole.l_type = Int16(F_WRLCK)
        whole.l_whence = Int16(SEEK_SET)
        let result = fcntl(file, setOpenFileLock, &whole)
      #endif
      if result != -1 { return 0 }
      if errno != EINTR { return errno }
    }
  }

  private static func unlock(_ file: Int32) {
    #if canImport(Darwin)
      _ = flock(file, LOCK_UN)
    #else
      var whole = flock()
      whole.l_type = Int16(F_UNLCK)
      whole.l_whence = Int16(SEEK_SET)
      _ = fcntl(file, setOpenFileLock, &whole)
    #endif
  }

  /// Writes who owns the store into the locked file.
  private static func writeOwner(_ file: Int32, _ path: String) -> StoreError? {
    let pid = getpid()
    let text = Bytes("pid \(pid)\nstart \(Platform.processStart(pid))\n".utf8)
    guard ftruncate(file, 0) == 0 else { return Platform.error(errno, "write the lock file", path) }
    let written = pwrite(file, text, text.count, 0)
    // A full disk is ignored here, so that the store can still be read and emptied: the name is
    // only for messages.
    if written < 0, errno != ENOSPC, errno != EDQUOT {
      return Platform.error(errno, "write the lock file", path)
    }
    return nil
  }

  /// The error for a lock that is held; it names the owner if that is known.
  private static func busy(_ path: String, _ text: Bytes) -> StoreError {
    var pid: Int32?
    var start = Substring()
    for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
      if line.hasPrefix("pid ") { pid = Int32(line.dropFirst(4)) }
      if line.hasPrefix("start ") { start = line.dropFirst(6) }
    }
    let remedy = "One process at a time may open a store: close it there, or use another path."
    guard let pid else {
      return StoreError(.busy, "Another opener owns the store (lock file \(path)). \(remedy)")
    }
    if pid == getpid() {
      return StoreError(
        .busy,
        "This process (pid \(pid)) has the store open already (lock file \(path)). "
          + "Share the open store, or close it first.")
    }
    var owner = "Process \(pid)"
    // The process is named only if it is the one that wrote the file, not another one with the same
    // id.
    if Platform.processStart(pid) == start, let command = Platform.command(pid) {
      owner += " (\(command))"
    }
    return StoreError(.busy, "\(owner) owns the store (lock file \(path)). \(remedy)")
  }
}
