import ConiferKeyValue
import Synchronization

/// The class of a segment's values.
enum SegmentClass: UInt8, Sendable {
  /// Values that commits wrote.
  case journal = 0
  /// The queue's values that compaction copied.
  case queue = 1
  /// Other values that compaction copied.
  case copies = 2
}

/// A file of values, opened when it is first read.
///
/// Views keep the segments that they may read; a segment that was dropped from the store lives
/// until the last view releases it.
final class Segment: Sendable {
  let number: UInt64
  let kind: SegmentClass
  let path: String
  private let lengthNow: Atomic<Int>
  private let allocatedNow: Atomic<Int>
  private let liveNow: Atomic<Int>
  private let isDropped = Atomic(false)
  private let store: Bytes
  private let handles: OpenSegments
  private let file: Mutex<(any LogFile)?>

  init(
    _ number: UInt64, _ kind: SegmentClass, length: Int, live: Int, _ path: String, store: Bytes,
    _ handles: OpenSegments, file: (any LogFile)? = nil
  ) {
    self.number = number
    self.kind = kind
    self.path = path
    lengthNow = Atomic(length)
    allocatedNow = Atomic(length)
    liveNow = Atomic(live)
    self.store = store
    self.handles = handles
    self.file = Mutex(file)
  }

  /// The number of bytes with frames.
  var length: Int {
    get { lengthNow.load(ordering: .relaxed) }
    set { lengthNow.store(newValue, ordering: .relaxed) }
  }

  /// The length of the file.
  var allocated: Int {
    get { allocatedNow.load(ordering: .relaxed) }
    set { allocatedNow.store(newValue, ordering: .relaxed) }
  }

  /// Bytes of records that the index points to.
  var live: Int {
    get { liveNow.load(ordering: .relaxed) }
    set { liveNow.store(newValue, ordering: .relaxed) }
  }

  /// Closes the file, unless the segment was dropped; reads in progress finish first.
  func closeFile() {
    file.withLock { file in
      if !isDropped.load(ordering: .acquiring) { file = nil }
    }
  }

  /// Keeps the file open from now on, for views that may read it after its name is removed.
  func drop() {
    isDropped.store(true, ordering: .releasing)
    _ = try? opened()
    handles.forget(self)
  }

  /// The file, which is opened and checked when it is not open.
  ///
  /// - Throws: `damaged` (missing or cut), `foreign`, `newerFormat`, `io`, `denied`.
  func opened() throws(StoreError) -> any LogFile {
    let (found, isNew) = try file.withLock {
      (file: inout _) throws(StoreError) -> (any LogFile, Bool) in
      if let file { return (file, false) }
      let found = try handles.files.existing(path, .read)
      try FileHeader.check(found, path, .segment, store: store, number: number)
      guard try found.size(path) >= length else {
        throw StoreError.damagedFile(path, "it was cut")
      }
      file = found
      return (found, true)
    }
    if isNew { handles.register(self) }
    return found
  }

  /// Fills a buffer with a value.
  ///
  /// - Throws: `damaged` when the bytes are not those that were written, `io`.
  func read(
    _ pointer: Pointer, into buffer: UnsafeMutableRawBufferPointer
  ) throws(StoreError) -> Bool {
    let file = try opened()
    do throws(FileFailure) {
      return try file.fill(buffer, at: Int(pointer.offset)) == buffer.count
    } catch { throw error.error("read", path) }
  }
}

/// The segments that are open for reading, so that a large store does not use up the process's
/// files: the one that was opened first is closed when there are too many.
final class OpenSegments: Sendable {
  let files: any LogFileSystem
  private let limit: Int
  /// Nil after the store is closed.
  private let open = Mutex<[Segment]?>([])

  init(_ files: any LogFileSystem, limit: Int) {
    self.files = files
    self.limit = limit
  }

  /// Adds a segment that was just opened; closes the segment that was opened first when there are
  /// too many.
  func register(_ segment: Segment) {
    let oldest = open.withLock { open -> Segment? in
      guard var all = open else { return nil }
      open = nil
      all.append(segment)
      let oldest = all.count > limit ? all.removeFirst() : nil
      open = all
      return oldest
    }
    oldest?.closeFile()
  }

  /// Releases the segments, which refer to this list; they live as long as views need them.
  func end() { open.withLock { $0 = nil } }

  /// Removes a dropped segment from the list, and keeps its file open.
  fileprivate func forget(_ segment: Segment) {
    open.withLock { $0?.removeAll { $0 === segment } }
  }
}

extension LogFileSystem {
  /// Opens a file that the manifest lists.
  ///
  /// - Throws: `damaged` when it is missing, `io`, `denied`.
  func existing(_ path: String, _ access: FileAccess) throws(StoreError) -> any LogFile {
    let file: (any LogFile)?
    do throws(FileFailure) {
      file = try open(path, access)
    } catch { throw error.error("open", path) }
    guard let file else { throw StoreError.damagedFile(path, "it is missing") }
    return file
  }
}
