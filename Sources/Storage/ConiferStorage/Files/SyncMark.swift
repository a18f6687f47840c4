internal import ConiferKeyValue
internal import ConiferLeafStore

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// The bytes of a mark: the newest commit of a store that survives power loss.
package enum SyncMark {
  static let length = 32
  private static let title = Bytes("synced 1".utf8)

  static func bytes(_ commit: StoreCommit) -> Bytes {
    let text = title + StoreKey.number(commit.store) + StoreKey.number(commit.number)
    return text + StoreKey.number(XXHash64.hash(text, seed: 0))
  }

  /// The commit of a mark; nil for what was torn, changed, or never one.
  static func commit(_ bytes: Bytes) -> StoreCommit? {
    guard bytes.count == length else { return nil }
    let commit = StoreCommit(
      store: StoreKey.number(atEndOf: Bytes(bytes[8..<16])),
      number: StoreKey.number(atEndOf: Bytes(bytes[16..<24])))
    let isInBounds = (1...StoreCommit.lastNumber).contains(commit.number)
    return isInBounds && Self.bytes(commit) == bytes ? commit : nil
  }

  /// Whether bytes are a mark, or what a crash or damage made of one, rather than somebody else's.
  static func isMark(_ bytes: Bytes, of store: UInt64?) -> Bool {
    if bytes.starts(with: title) { return true }
    guard bytes.count <= length else { return false }
    if bytes.allSatisfy({ $0 == 0 }) { return true }
    return bytes.count == length && StoreKey.number(atEndOf: Bytes(bytes[8..<16])) == store
  }
}

extension SyncMark {
  /// What lies in the place of a directory's mark, in words; nothing is changed.
  package static func words(in directory: String) -> String {
    switch SyncMarkFile(in: directory).read(of: nil) {
    case .nothing: "none"
    case .mark(let commit): "commit \(commit.number) survives power loss"
    case .foreign: "a file that is not a mark"
    case .unreadable(let cause, _): "it cannot be read: \(cause)"
    }
  }
}

/// The file of a mark beside a store's own. It is never synced: what a power cut leaves of it is a
/// mark of before, or none.
final class SyncMarkFile {
  static let name = "synced"

  private enum Access {
    /// Nobody has looked at what is there: nothing may be written.
    case unread
    /// It cannot be read, or is not a mark: it stays as it is.
    case refused
    /// - Parameter isLong: whether bytes follow the mark.
    case closed(isLong: Bool)
    case open(Int32)
  }

  let path: String
  private var access = Access.unread
  /// The commit that the file names.
  private var written: StoreCommit?

  private let openFile: (_ path: String, _ flags: Int32) -> Int32

  /// - Parameters:
  ///   - directory: where the file lies.
  ///   - open: opens it as the system does; tests let it fail.
  init(
    in directory: String,
    open: @escaping (_ path: String, _ flags: Int32) -> Int32 = SyncMarkFile.systemOpen
  ) {
    path = "\(directory)/\(Self.name)"
    openFile = open
  }

  deinit { close() }

  /// What was found in the file's place.
  enum Found {
    case nothing
    case mark(StoreCommit)
    /// A file that is not a mark: nothing is ever written there.
    case foreign
    /// There may be a mark, but it cannot be read now, or the system does not allow it: nothing is
    /// written there.
    case unreadable(cause: String, isDenied: Bool)
  }

  /// Reads the file, which may be written after that unless it is another's or cannot be read.
  ///
  /// - Parameter store: what the store is known by.
  func read(of store: UInt64?) -> Found {
    close()
    (access, written) = (.refused, nil)
    let file = openFile(path, O_RDONLY)
    guard file >= 0 else {
      let number = errno
      switch number {
      case ENOENT:
        access = .closed(isLong: false)
        return .nothing
      // A link is not followed, and nothing can be opened behind some names.
      case ELOOP, ENXIO: return .foreign
      // The store is in no directory.
      case ENOTDIR, ENAMETOOLONG: return .nothing
      default:
        let isDenied = number == EACCES || number == EPERM
        return .unreadable(cause: Self.words(number), isDenied: isDenied)
      }
    }
    defer { Platform.close(file) }
    guard Self.isRegular(file) else { return .foreign }
    guard let bytes = Platform.read(file, at: 0, limit: 2 * SyncMark.length) else {
      return .unreadable(cause: Self.words(errno), isDenied: false)
    }
    guard SyncMark.isMark(bytes, of: store) else { return .foreign }
    access = .closed(isLong: bytes.count > SyncMark.length)
    written = SyncMark.commit(bytes)
    return written.map { .mark($0) } ?? .nothing
  }

  /// The commit that the mark in a directory names; nil where there is none that can be read.
  static func commit(in directory: String) -> StoreCommit? {
    guard case .mark(let commit) = SyncMarkFile(in: directory).read(of: nil) else { return nil }
    return commit
  }

  /// Opens the file for a commit that it does not name yet, so that it is the one beside this store
  /// that is written later.
  func open(for commit: StoreCommit) {
    if let written, written.store == commit.store, written.number >= commit.number { return }
    guard case .closed(let isLong) = access else { return }
    let file = openFile(path, O_WRONLY | O_CREAT)
    guard file >= 0 else { return }
    if isLong { ftruncate(file, off_t(SyncMark.length)) }
    access = .open(file)
  }

  /// Writes a commit unless the file names a later one. A failure is ignored: an older mark, or none,
  /// is never wrong.
  func write(_ commit: StoreCommit) {
    if let written, written.store == commit.store, written.number >= commit.number { return }
    open(for: commit)
    guard case .open(let file) = access else { return }
    let bytes = SyncMark.bytes(commit)
    let count = pwrite(file, bytes, bytes.count, 0)
    if count == bytes.count {
      written = commit
    } else if count > 0 {
      // What is a part of this mark and a part of the older one is neither.
      written = nil
      ftruncate(file, 0)
    }
  }

  /// Closes the file, which the next write opens again.
  func close() {
    guard case .open(let file) = access else { return }
    Platform.close(file)
    access = .closed(isLong: false)
  }

  /// Forgets what is in the file, which another process may write from now on.
  func forget() {
    close()
    (access, written) = (.unread, nil)
  }

  static func systemOpen(_ path: String, _ flags: Int32) -> Int32 {
    // Whatever the name stands for, opening it must not wait.
    #if canImport(Darwin)
      Darwin.open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    #elseif canImport(Glibc)
      Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    #elseif canImport(Musl)
      Musl.open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    #endif
  }

  private static func words(_ number: Int32) -> String { String(cString: strerror(number)) }

  private static func isRegular(_ file: Int32) -> Bool {
    var facts = stat()
    return fstat(file, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
  }
}
