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
/// left behind blocks nobody. It is never removed, since removing a lock file lets two owners in. The
/// lock belongs to the open file, not to the process (an open file description lock on Linux, `flock`
/// on Apple systems): a second opener in the same process is refused too.
///
/// The file's text says two things: the kind of the store, which stays, and the owner's name, for
/// the message to the second opener, which goes when the lock is released.
public final class OwnerLock: Sendable {
  /// The lock file's path.
  public let path: String
  /// Whether the owner before this one did not release the lock: it was killed, or it trapped.
  public let wasLeftBehind: Bool

  private struct Held {
    /// The open file; negative when the lock was released.
    var file: Int32
    /// How many bytes of the file are its first line, which names the kind.
    var kindLength: Int
  }

  private let kind: String?
  /// The lines that name the owner.
  private let name: Bytes
  private let held: Mutex<Held>
  /// What tells readers of the store that this process owns it.
  private let claim: ProcessClaim?
  private let process = Platform.processID

  /// Takes the lock of a directory that is no store, or for what is done to any kind of store, making
  /// the file when it is missing.
  ///
  /// - Parameter path: of the lock file; its directory must exist.
  /// - Throws: `busy` with the owner's name, `foreign` (a migration into the directory was cut short),
  ///   `denied`, `full`, `io`.
  public convenience init(path: String) throws(StoreError) { try self.init(path, nil) }

  /// Takes the lock of a store, making the file when it is missing; `recordKind()` follows when the
  /// store is open.
  ///
  /// If this returns and the main file is not there, no store ever was: one may be made. A store that
  /// was made before the file recorded kinds is recognised by its main and later files alone.
  ///
  /// - Parameters:
  ///   - path: of the lock file in the store's directory, which must exist.
  ///   - files: the kind of the store and its files.
  /// - Throws: `busy` with the owner's name, `foreign` (the file names another kind, or a migration
  ///   into the directory was cut short), `damaged` (a store of this kind, or of one that cannot be read
  ///   any more, was there, and the main file is missing), `denied`, `full`, `io`. After `foreign` and
  ///   `damaged` the directory is as it was.
  public convenience init(path: String, for files: StoreFiles) throws(StoreError) {
    try self.init(path, files)
  }

  private init(_ path: String, _ files: StoreFiles?) throws(StoreError) {
    let directory = Platform.parent(of: path)
    if Directory.isMissing(path) {
      // What is refused gets no lock file either.
      try UnfinishedStore.check(directory)
      try files?.check(.none, in: directory)
    }
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
    let pid = getpid()
    let name = OwnerText.owner(pid, start: Platform.processStart(pid))
    let length: Int
    let wasLeftBehind: Bool
    do throws(StoreError) {
      try UnfinishedStore.check(directory)
      guard let bytes = Platform.read(file, at: 0, limit: 512) else {
        throw Platform.error(errno, "read the lock file", path)
      }
      let text = OwnerText(bytes)
      wasLeftBehind = text.pid != nil
      try files?.check(text.kind, in: directory)
      // Who does not know the kind keeps what is left of it.
      length = files == nil ? text.lineLength : text.kindLength
      if let error = Self.write(name, to: file, at: length, path) { throw error }
    } catch {
      // As in `release`: a child process that is just being started must not keep the lock.
      Self.unlock(file)
      Platform.close(file)
      throw error
    }
    self.path = path
    self.name = name
    self.wasLeftBehind = wasLeftBehind
    kind = files?.kind
    held = Mutex(Held(file: file, kindLength: length))
    claim = ProcessClaim(path)
  }

  deinit { release() }

  /// Records the kind of the store in the file, for every later opener, if that was not done yet.
  ///
  /// To be called when the main file is there durably, and never before: after a crash in between, the
  /// next opener makes the store as if nothing had been. A failure is ignored, since the next opening
  /// records it.
  public func recordKind() {
    guard let kind, let line = OwnerText.line(kind: kind), Platform.processID == process else {
      return
    }
    let text = line + name
    held.withLock { held in
      guard held.file >= 0, held.kindLength == 0 else { return }
      // Emptied first: what a write that ends early left of the line and of the text before would
      // read as a kind that there is not.
      guard ftruncate(held.file, 0) == 0 else { return }
      if pwrite(held.file, text, text.count, 0) == text.count { held.kindLength = line.count }
    }
  }

  /// Lets go of the lock, and of the file leaves the kind of the store alone; a second call does
  /// nothing.
  public func release() { release(clearingName: true) }

  /// Lets go of the lock as the death of the process would: the next owner finds that it was left behind.
  package func leave() { release(clearingName: false) }

  private func release(clearingName: Bool) {
    let held = held.withLock { held in
      defer { held.file = -1 }
      return held
    }
    let file = held.file
    guard file >= 0 else { return }
    claim?.release()
    // The child of a fork shares the open file and so the lock; only the parent may release it.
    guard Platform.processID == process else {
      Platform.close(file)
      return
    }
    // The lock is still held here, so this cannot erase the next owner's name. If it fails, the
    // name is stale, which does no harm: only the kernel's lock counts.
    if clearingName { _ = ftruncate(file, off_t(held.kindLength)) }
    // The lock is released explicitly, not by closing the file: a child process that is just being
    // started holds the open file for a moment.
    Self.unlock(file)
    Platform.close(file)
  }

  /// Whether the lock is still held by this object.
  package var isHeld: Bool { held.withLock { $0.file >= 0 } }

  /// The kind of store that the owner's file of a directory names; nil when there is none, or it names
  /// none that can be read.
  ///
  /// - Throws: `denied`, `io`.
  package static func kind(in directory: String) throws(StoreError) -> String? {
    guard case .recorded(let kind) = try text(in: directory).kind else { return nil }
    return kind
  }

  /// Whether the owner's file of a directory named a kind that cannot be read any more.
  ///
  /// - Throws: `denied`, `io`.
  package static func hasDamagedKind(in directory: String) throws(StoreError) -> Bool {
    try text(in: directory).kind == .damaged
  }

  static func text(in directory: String) throws(StoreError) -> OwnerText {
    OwnerText(try Directory.contents(directory + "/owner", limit: 512) ?? [])
  }

  /// Whether something in this process has the store in a directory open.
  static func isHeldHere(in directory: String) -> Bool {
    ProcessClaim.isMade(of: directory + "/owner")
  }

  /// Tries to lock; zero or an `errno`.
  ///
  /// - Parameter isShared: whether others may have it too, if they only look as well.
  static func lock(_ file: Int32, isShared: Bool = false) -> Int32 {
    while true {
      #if canImport(Darwin)
        let result = flock(file, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB)
      #else
        var whole = flock()
        whole.l_type = Int16(isShared ? F_RDLCK : F_WRLCK)
        whole.l_whence = Int16(SEEK_SET)
        let result = fcntl(file, setOpenFileLock, &whole)
      #endif
      if result != -1 { return 0 }
      if errno != EINTR { return errno }
    }
  }

  static func unlock(_ file: Int32) {
    #if canImport(Darwin)
      _ = flock(file, LOCK_UN)
    #else
      var whole = flock()
      whole.l_type = Int16(F_UNLCK)
      whole.l_whence = Int16(SEEK_SET)
      _ = fcntl(file, setOpenFileLock, &whole)
    #endif
  }

  /// Writes who owns the store into the locked file, behind the line that names its kind.
  private static func write(
    _ name: Bytes, to file: Int32, at offset: Int, _ path: String
  ) -> StoreError? {
    guard ftruncate(file, off_t(offset)) == 0 else {
      return Platform.error(errno, "write the lock file", path)
    }
    let written = pwrite(file, name, name.count, off_t(offset))
    // A full disk is ignored here, so that the store can still be read and emptied: the name is
    // only for messages.
    if written < 0, errno != ENOSPC, errno != EDQUOT {
      return Platform.error(errno, "write the lock file", path)
    }
    return nil
  }

  /// The error for a lock that is held; it names the owner if that is known.
  private static func busy(_ path: String, _ text: Bytes) -> StoreError {
    let text = OwnerText(text)
    let remedy = "One process at a time may open a store: close it there, or use another path."
    guard let pid = text.pid else {
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
    if Platform.processStart(pid) == text.start, let command = Platform.command(pid) {
      owner += " (\(command))"
    }
    return StoreError(.busy, "\(owner) owns the store (lock file \(path)). \(remedy)")
  }
}
