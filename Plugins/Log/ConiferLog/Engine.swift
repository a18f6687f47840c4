import ConiferKeyValue
import ConiferStorage
import Synchronization

/// The engine of an open store: the only writer of its files.
final class Engine: @unchecked Sendable {
  // Unchecked: called under the store's lock alone; what views need is published.

  /// The segment that commits append to.
  struct Active {
    let segment: Segment
    let file: any LogFile
    /// The end of the allocated space.
    var capacity: Int
    /// The offset of the next frame.
    var position: Int
    /// The end of the synced bytes.
    var synced: Int
    /// The end of the written bytes, including zeros after the frames.
    var written: Int
    /// Whether something was written since the last sync, or found unsynced at opening.
    var isDirty: Bool
  }

  /// A segment that compaction writes.
  struct Output {
    let segment: Segment
    let file: any LogFile
    var position: Int
  }

  /// A pass of compaction: its position in the index, and the segments that it empties.
  struct Pass {
    var victims: Set<UInt64>
    var key: Bytes = []
  }

  let directory: String
  let options: LogOptions
  let files: any LogFileSystem
  let cache: BlockCache
  let handles: OpenSegments
  let losses = Losses()
  let published = Published()
  let salt = UInt32.random(in: .min ... .max)
  var manifest: Manifest
  var active: Active?
  var nextNumber: UInt64
  var sequence: UInt64
  var previous: UInt64
  /// The error that blocks writing until the store is reopened.
  var poison: StoreError?

  /// The damage that opening left out, until it is acknowledged.
  var lost: [Range<Int>] = []
  /// Whether `reserve` is there.
  var hasReserve = false
  /// Whether the reserve was used on a full disk: the remaining space is for commits that free
  /// space.
  var hasUsedReserve = false

  /// The segments that compaction appends to, by class.
  var outputs: [SegmentClass: Output] = [:]
  /// Segments of copies that were written and not synced.
  var unsynced: [UInt64: any LogFile] = [:]
  var pass: Pass?
  /// Segments that compaction cannot empty, because something in them cannot be read.
  var stuck: Set<UInt64> = []
  /// Whether compaction has stopped because the index could not be read.
  var isIndexDamaged = false

  init(
    _ directory: String, _ options: LogOptions, _ files: any LogFileSystem, _ manifest: Manifest
  ) {
    self.directory = directory
    self.options = options
    self.files = files
    self.manifest = manifest
    cache = BlockCache(bytes: options.cache)
    handles = OpenSegments(files, limit: options.filesKept)
    nextNumber = manifest.nextNumber
    sequence = manifest.sequence
    previous = manifest.previous
  }

  deinit {
    handles.end()
    published.end()
  }

  // MARK: Names

  func path(_ name: String) -> String { directory + "/" + name }

  func path(_ number: UInt64, _ kind: FileHeader.Kind) -> String {
    path(FileName(number: number, kind: kind).description)
  }

  func takeNumber() -> UInt64 {
    defer { nextNumber += 1 }
    return nextNumber
  }

  // MARK: Errors

  /// The error of a failed write: a full disk is an ordinary error, all others poison the store.
  func writeFailed(_ failure: FileFailure, _ action: String, _ path: String) -> StoreError {
    let error = failure.error(action, path)
    if !failure.meansFull { poison = error }
    return error
  }

  /// The error of a failed sync, which always poisons the store: the state of the disk is unknown.
  func syncFailed(_ failure: FileFailure, _ path: String) -> StoreError {
    let known = failure.error("sync", path)
    let error = StoreError(.io, known.message, cause: known.cause)
    poison = error
    return error
  }

  /// Calls a closure that writes; its errors are those of a failed write.
  func writing<R>(
    _ action: String, _ path: String, _ body: () throws(FileFailure) -> R
  ) throws(StoreError) -> R {
    do throws(FileFailure) {
      return try body()
    } catch { throw writeFailed(error, action, path) }
  }

  /// The snapshot of the newest commit.
  var snapshot: Snapshot { published.snapshot }

  // MARK: Durability

  /// Syncs the journal when something in it is not synced.
  func harden() throws(StoreError) {
    guard var active, active.isDirty else { return }
    do throws(FileFailure) {
      try active.file.syncAll()
    } catch { throw syncFailed(error, active.segment.path) }
    active.isDirty = false
    active.synced = active.position
    self.active = active
  }
}

/// The name of a segment or a table.
struct FileName: CustomStringConvertible {
  let number: UInt64
  let kind: FileHeader.Kind

  init(number: UInt64, kind: FileHeader.Kind) {
    self.number = number
    self.kind = kind
  }

  /// Parses a name; nil when it is neither a segment's nor a table's.
  init?(_ name: String) {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].utf8.count == 16,
      parts[0].utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }),
      let number = UInt64(parts[0], radix: 16)
    else { return nil }
    switch parts[1] {
    case "segment": self.init(number: number, kind: .segment)
    case "table": self.init(number: number, kind: .table)
    default: return nil
    }
  }

  var description: String { "\(number.hex).\(kind == .segment ? "segment" : "table")" }
}
