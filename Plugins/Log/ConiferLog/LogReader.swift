import ConiferKeyValue
import ConiferStorage
import Synchronization

/// A log store as it is read beside its owner: the files that its manifest lists, and the sound frames behind
/// them.
///
/// All files are opened at once, so that they can be read after the owner has removed their names, and closed when the
/// last view ends: what was removed takes no space between reads. While there are views, a manifest that was replaced
/// has the files opened anew; otherwise the journal is followed from where it ended.
final class LogReader: ReadableStore {
  /// Where the journal ends, as far as it was read.
  private struct Journal {
    let segment: Segment
    let file: any LogFile
    var position: Int
    var sequence: UInt64
    var previous: UInt64
  }

  /// What was read of the files that one manifest lists.
  private struct Opened {
    /// The manifest's bytes, by which a newer one is told.
    let bytes: Bytes
    let store: Bytes
    let published: Published
    /// Nil for a store that nothing was committed to.
    var journal: Journal?
  }

  private enum State {
    /// The files while there are views, and how many there are.
    case open(Opened?, views: Int)
    case closed
  }

  let traits = LogStore.traits
  private let directory: String
  private let options: LogOptions
  private let files: any LogFileSystem
  private let lease = LogLease()
  private let state: Mutex<State>

  /// How often something is read again that the owner changed meanwhile.
  private static let attemptsAtMost = 50

  /// Opens a store for reading.
  ///
  /// - Throws: as `view`.
  init(
    at directory: String, _ options: LogOptions, files: any LogFileSystem
  ) throws(StoreError) {
    self.directory = directory
    self.options = options.checked
    self.files = files
    state = Mutex(.open(nil, views: 0))
    try view().close()
  }

  deinit { close() }

  /// Its files are looked for by their names at each view.
  var isCurrent: Bool { true }

  func view() throws(StoreError) -> any OrderedView {
    try state.withLock { (state: inout State) throws(StoreError) -> LogView in
      guard case .open(let known, let views) = state else { throw StoreError.storeClosed }
      // What fails half-way is read anew next time.
      state = .open(nil, views: views)
      let opened = try newest(known)
      state = .open(opened, views: views + 1)
      return LogView(opened.published, lease) { [weak self, published = opened.published] in
        guard let self else { return published.end() }
        self.ended(published)
      }
    }
  }

  /// A view has ended: the last one releases the files, and so does the last one of a manifest that was replaced.
  private func ended(_ published: Published) {
    let (isUsed, last) = state.withLock { state -> (Bool, Opened?) in
      guard case .open(let opened, let views) = state else { return (false, nil) }
      state = .open(views > 1 ? opened : nil, views: views - 1)
      return (views > 1 && opened?.published === published, views > 1 ? nil : opened)
    }
    // Not under the lock, as files are closed here.
    if !isUsed { published.end() }
    last?.published.end()
  }

  func close() {
    lease.isOver.store(true, ordering: .releasing)
    state.withLock { $0 = .closed }
  }

  /// The newest state of the files.
  private func newest(_ known: Opened?) throws(StoreError) -> Opened {
    var bytes = try manifest()
    var attempt = 0
    while true {
      attempt += 1
      if var known, known.bytes == bytes {
        try follow(&known)
        return known
      }
      do throws(StoreError) {
        var fresh = try open(bytes)
        try follow(&fresh, looksBehindZeros: true)
        return fresh
      } catch {
        // The owner removes files once another manifest is in place.
        let newer = try manifest()
        guard newer != bytes, attempt < Self.attemptsAtMost else { throw error }
        bytes = newer
      }
    }
  }

  /// The bytes of the manifest that is in place.
  private func manifest() throws(StoreError) -> Bytes {
    let path = directory + "/manifest"
    let found: (any LogFile)?
    do throws(FileFailure) {
      found = try files.open(path, .read)
    } catch { throw error.error("open", path) }
    guard let found else { throw StoreError.noStore(in: directory) }
    return try found.contents(path, at: 0, count: try found.size(path))
  }

  /// Opens all files that a manifest lists.
  private func open(_ bytes: Bytes) throws(StoreError) -> Opened {
    let manifest = try Manifest(bytes, directory + "/manifest")
    let handles = OpenSegments(files, limit: .max)
    // What is opened stays open until nobody reads it any more, and nothing lists it.
    defer { handles.end() }
    let snapshot = try Snapshot(
      manifest, in: directory, handles, BlockCache(bytes: options.cache), Losses())
    for segment in snapshot.segments.values { _ = try segment.opened() }
    let published = Published()
    published.state.withLock { $0.snapshot = snapshot }
    var journal: Journal?
    if manifest.active != 0 {
      guard let segment = snapshot.segments[manifest.active] else {
        throw StoreError.damagedFile(
          directory + "/manifest", "its active segment is not listed")
      }
      journal = Journal(
        segment: segment, file: try segment.opened(), position: manifest.position,
        sequence: manifest.sequence, previous: manifest.previous)
    }
    return Opened(bytes: bytes, store: manifest.store, published: published, journal: journal)
  }

  /// Reads what the journal has behind the place where it ended.
  ///
  /// - Parameter looksBehindZeros: whether zeros there may be damage in front of sound frames.
  private func follow(
    _ opened: inout Opened, looksBehindZeros: Bool = false
  ) throws(StoreError) {
    guard var journal = opened.journal else { return }
    let path = journal.segment.path
    if !looksBehindZeros {
      // The usual end: space that was allocated ahead, or the file's end.
      let next = try journal.file.contents(path, at: journal.position, count: FrameHeader.size)
      guard next.contains(where: { $0 != 0 }) else { return }
    }
    var lost: [Range<Int>] = []
    for attempt in 1... {
      let length = try journal.file.size(path) - journal.position
      let found = JournalReader(
        try journal.file.contents(path, at: journal.position, count: length),
        base: journal.position, store: opened.store, segment: journal.segment.number,
        sequence: journal.sequence, previous: journal.previous)
      guard found.lost.isEmpty else {
        // A frame was read before the owner wrote it, and a later one after: then it is whole by now. An owner that goes
        // on may have that happen again, with another frame.
        guard attempt < 3 || found.lost != lost, attempt < Self.attemptsAtMost else {
          throw StoreError(
            .damaged,
            "Commits in \(path) that had been durable cannot be read: let the app open the store, which "
              + "reports them and goes on without them.")
        }
        lost = found.lost
        Platform.pause()
        continue
      }
      for frame in found.frames { try opened.published.replay(frame, journal.segment) }
      (journal.position, journal.sequence, journal.previous) =
        (found.end, found.sequence, found.previous)
      opened.journal = journal
      return
    }
  }
}
