internal import CStorageProbe
internal import ConiferKeyValue
internal import Synchronization

/// Watches this process's file calls below one directory: counts them, records them, or makes them
/// fail.
///
/// Files must be opened after the session began. Several sessions may watch several directories.
final class IOSession: Sendable {
  /// How an operation fails.
  enum Fault: Sendable, Hashable {
    /// It fails with an error number and has no effect.
    case error(Int32)
    /// The same, from that operation on.
    case errors(Int32)
    /// A write writes only its first half and returns its length; other operations succeed.
    case shortWrite
    /// The process is killed instead.
    case kill
  }

  /// Which operations are counted.
  enum Counting: Sendable {
    /// Those that change files and names, and syncs.
    case changes
    /// Those, and opens and reads.
    case changesAndReads
    /// Only syncs, and writes that are durable when they return (`O_DSYNC`).
    case syncs
  }

  /// Whether the C library's calls can be watched here: on Linux with glibc.
  static var isAvailable: Bool { probe_is_available() }

  /// Why calls cannot be watched here, or nil.
  static var reason: String? {
    isAvailable ? nil : "file calls can be watched on Linux with glibc alone"
  }

  /// The directory that is watched.
  let directory: String
  private let number: Mutex<Int32>

  private init(_ directory: String, records: Bool) throws {
    let number = Self.isAvailable ? probe_begin(directory, records) : -1
    guard number >= 0 else {
      throw ConformanceFailure("The file calls below \(directory) cannot be watched here.")
    }
    self.directory = directory
    self.number = Mutex(number)
    if records { Self.recorded.withLock { $0[directory] = number } }
  }

  deinit { end() }

  /// Records the operations below a directory.
  static func record(_ directory: String) throws -> IOSession {
    try IOSession(directory, records: true)
  }

  /// Makes an operation below a directory fail.
  ///
  /// - Parameters:
  ///   - at: the operation's number among those that are counted, from 0; nil for none yet.
  ///   - fault: how it fails.
  ///   - counting: which operations are counted.
  static func fail(
    _ directory: String, at: Int?, with fault: Fault, counting: Counting = .changes
  ) throws -> IOSession {
    let session = try IOSession(directory, records: false)
    session.number.withLock { number in
      probe_count_only_syncs(number, counting == .syncs)
      probe_count_reads(number, counting == .changesAndReads)
    }
    if let at { session.fail(at: at, with: fault) }
    return session
  }

  /// Makes another operation fail, by its number since the session began.
  func fail(at: Int, with fault: Fault) {
    number.withLock { number in
      switch fault {
      case .error(let code): probe_fail(number, Int64(at), Int32(PROBE_ERROR.rawValue), code, false)
      case .errors(let code): probe_fail(number, Int64(at), Int32(PROBE_ERROR.rawValue), code, true)
      case .shortWrite: probe_fail(number, Int64(at), Int32(PROBE_SHORT.rawValue), 0, false)
      case .kill: probe_fail(number, Int64(at), Int32(PROBE_KILL.rawValue), 0, false)
      }
    }
  }

  /// Makes no further operation fail.
  func stopFailing() {
    number.withLock { probe_fail($0, -1, Int32(PROBE_NO_FAULT.rawValue), 0, false) }
  }

  /// Simulates a full disk, or ends that. On a full disk, calls that need more space than was freed
  /// since fail with ENOSPC: creating files, directories and links, and writing beyond a file's
  /// length. Overwriting bytes inside a file succeeds.
  func setFull(_ isFull: Bool) { number.withLock { probe_fill_disk($0, isFull) } }

  /// How many operations were counted.
  var operationCount: Int { number.withLock { Int(probe_operations($0)) } }

  /// How many operations failed on purpose; a full disk is not counted.
  var failureCount: Int { number.withLock { Int(probe_failures($0)) } }

  /// A description of the newest operation that failed on purpose, with its file; nil when none
  /// did.
  var failure: String? {
    var path = [CChar](repeating: 0, count: 4096)
    let kind = number.withLock { probe_failed($0, &path, path.count) }
    let words: String
    switch probe_kind(UInt32(bitPattern: kind)) {
    case PROBE_OPEN: words = "opening"
    case PROBE_CREATE: words = "making"
    case PROBE_READ: words = "reading"
    case PROBE_WRITE: words = "writing"
    case PROBE_TRUNCATE: words = "resizing"
    case PROBE_SYNC, PROBE_SYNC_DIRECTORY: words = "syncing"
    case PROBE_RENAME: words = "renaming to"
    case PROBE_LINK: words = "linking"
    case PROBE_UNLINK, PROBE_RMDIR: words = "removing"
    case PROBE_MKDIR: words = "making the directory"
    default: return nil
    }
    let file = String(
      decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return "\(words) \(file.isEmpty ? "the directory" : file)"
  }

  /// The paths below the directory that this process has open, however it opened them.
  var openDescriptors: [String] { System.openFiles(under: directory) }

  /// Puts a number into the record.
  func mark(_ mark: Int) { number.withLock { probe_mark($0, Int64(mark)) } }

  /// Puts what a commit has come to into the record.
  func mark(_ mark: CommitMark) { self.mark(mark.number) }

  /// The operations so far, in order.
  func entries() -> [IOEntry] {
    number.withLock { number in
      var isIgnoring = false
      return (0..<probe_entries(number)).compactMap { index in
        var read = probe_entry()
        guard probe_read(number, index, &read), let entry = IOEntry(read) else { return nil }
        switch entry {
        case .mark(Ignoring.begin.rawValue): isIgnoring = true
        case .mark(Ignoring.end.rawValue): isIgnoring = false
        case _ where isIgnoring: return entry.withoutSync
        default: return entry
        }
        return nil
      }
    }
  }

  /// Stops watching; a second call does nothing.
  func end() {
    number.withLock { number in
      Self.recorded.withLock { recorded in
        if recorded[directory] == number { recorded[directory] = nil }
      }
      probe_end(number)
      number = -1
    }
  }

  // MARK: Syncs that are left out

  /// The numbers of the sessions that record, by directory.
  private static let recorded = Mutex<[String: Int32]>([:])

  /// The marks between which syncs do not count.
  private enum Ignoring: Int { case begin = -1, end = -2 }

  /// Runs a closure whose syncs the record of a directory does not have, as if they had been left out.
  ///
  /// - Returns: whether the directory is recorded.
  @discardableResult
  static func withoutSyncs<E: Error>(
    in directory: String, _ body: () throws(E) -> Void
  ) throws(E) -> Bool {
    let number = recorded.withLock { $0[directory] }
    if let number { probe_mark(number, Int64(Ignoring.begin.rawValue)) }
    defer { if let number { probe_mark(number, Int64(Ignoring.end.rawValue)) } }
    try body()
    return number != nil
  }
}

/// An operation that took effect below a watched directory; paths are relative to it.
enum IOEntry: Sendable {
  /// An existing file, which later entries name by a number.
  case open(file: Int, path: String)
  case create(file: Int, path: String)
  /// A write; one that was durable when it returned came through a descriptor with O_DSYNC.
  case write(file: Int, offset: Int, Bytes, isDurable: Bool)
  case resize(file: Int, Int)
  case sync(file: Int)
  case syncDirectory(String)
  case rename(String, String)
  case link(String, String)
  case unlink(String)
  case makeDirectory(String)
  case removeDirectory(String)
  case mark(Int)

  fileprivate init?(_ entry: probe_entry) {
    let file = Int(entry.file)
    let path = entry.path.map { String(cString: $0) } ?? ""
    let other = entry.other.map { String(cString: $0) } ?? ""
    switch probe_kind(UInt32(entry.kind)) {
    case PROBE_OPEN: self = .open(file: file, path: path)
    case PROBE_CREATE: self = .create(file: file, path: path)
    case PROBE_WRITE:
      self = .write(
        file: file, offset: Int(entry.offset),
        Bytes(UnsafeBufferPointer(start: entry.bytes, count: entry.count)),
        isDurable: entry.durable)
    case PROBE_TRUNCATE: self = .resize(file: file, Int(entry.offset))
    case PROBE_SYNC: self = .sync(file: file)
    case PROBE_SYNC_DIRECTORY: self = .syncDirectory(path)
    case PROBE_RENAME: self = .rename(path, other)
    case PROBE_LINK: self = .link(path, other)
    case PROBE_UNLINK: self = .unlink(path)
    case PROBE_MKDIR: self = .makeDirectory(path)
    case PROBE_RMDIR: self = .removeDirectory(path)
    case PROBE_MARK: self = .mark(Int(entry.offset))
    default: return nil
    }
  }
}

extension IOEntry {
  /// The operation as if nothing was durable when it returned; nil for a sync.
  fileprivate var withoutSync: IOEntry? {
    switch self {
    case .sync, .syncDirectory: nil
    case .write(let file, let offset, let bytes, _):
      .write(file: file, offset: offset, bytes, isDurable: false)
    default: self
    }
  }
}

extension IOEntry: CustomStringConvertible {
  /// The operation in a few words, without its bytes.
  var description: String {
    switch self {
    case .open(let file, let path): "open file \(file), \(path)"
    case .create(let file, let path): "create file \(file), \(path)"
    case .write(let file, let offset, let bytes, let isDurable):
      "write \(bytes.count) bytes at \(offset) of file \(file)\(isDurable ? ", durably" : "")"
    case .resize(let file, let length): "set the length of file \(file) to \(length)"
    case .sync(let file): "sync file \(file)"
    case .syncDirectory(let path): "sync directory \(path.isEmpty ? "." : path)"
    case .rename(let old, let new): "rename \(old) to \(new)"
    case .link(let old, let new): "link \(old) as \(new)"
    case .unlink(let path): "unlink \(path)"
    case .makeDirectory(let path): "make directory \(path)"
    case .removeDirectory(let path): "remove directory \(path)"
    case .mark(let number): "mark \(number)"
    }
  }
}
