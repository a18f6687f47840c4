import ConiferKeyValue
import ConiferStorage
import Synchronization

extension Engine {
  /// Makes an empty file.
  ///
  /// - Throws: `full`, `denied`, `io`.
  func create(_ path: String) throws(StoreError) -> any LogFile {
    let file = try writing("make", path) { () throws(FileFailure) in
      try files.open(path, .create)
    }
    guard let file else { throw StoreError(.io, "\(path) could not be made. Try again.") }
    return file
  }

  /// Makes a segment's file with its header.
  func newSegment(
    _ number: UInt64, _ kind: SegmentClass, _ prepare: (any LogFile) throws(FileFailure) -> Void
  ) throws(StoreError) -> (Segment, any LogFile) {
    let path = path(number, .segment)
    let file = try create(path)
    let header = FileHeader(
      kind: .segment, detail: kind.rawValue, store: manifest.store, number: number)
    try writing("write", path) { () throws(FileFailure) in
      try prepare(file)
      try file.writeAll(header.bytes, at: 0)
    }
    let segment = Segment(
      number, kind, length: FileHeader.size, live: 0, path, store: manifest.store, handles,
      file: file)
    return (segment, file)
  }

  /// Replaces the manifest durably.
  func write(_ next: Manifest) throws(StoreError) {
    let (new, path) = (path("manifest.new"), path("manifest"))
    let file = try create(new)
    let bytes = next.bytes
    try writing("write", new) { () throws(FileFailure) in
      try file.writeAll(bytes, at: 0)
      try file.syncAll()
      try files.rename(new, to: path)
    }
    try syncDirectory()
    manifest = next
  }

  /// Makes new and renamed names survive power loss.
  func syncDirectory() throws(StoreError) {
    do throws(FileFailure) {
      try files.syncDirectory(directory)
    } catch { throw syncFailed(error, directory) }
  }

  /// Copies unreadable bytes into separate files, before the journal is folded past them and tables
  /// are merged without them.
  func setLossesAside(_ parts: [Losses.Loss]) throws(StoreError) {
    if lost.isEmpty, parts.isEmpty { return }
    if let active {
      for range in lost {
        try setAside(active.file, active.segment.path, active.segment.number, range)
      }
    }
    for part in parts {
      let file = try files.existing(part.path, .read)
      try setAside(file, part.path, part.table, part.offset..<part.offset + part.length)
    }
    try syncDirectory()
  }

  private func setAside(
    _ file: any LogFile, _ source: String, _ number: UInt64, _ range: Range<Int>
  ) throws(StoreError) {
    let path = path("\(number.hex)-\(range.lowerBound).damaged")
    let bytes = try file.contents(source, at: range.lowerBound, count: range.count)
    let copy = try create(path)
    try writing("write", path) { () throws(FileFailure) in
      try copy.writeAll(bytes, at: 0)
      try copy.syncAll()
    }
  }

  /// Reads the whole index to find all damaged parts.
  ///
  /// - Throws: `io`.
  func findLosses() throws(StoreError) {
    for table in snapshot.tables {
      do throws(StoreError) {
        let index = try table.index()
        for number in index.blocks.indices {
          do throws(StoreError) {
            _ = try table.block(number, index)
          } catch { guard error.code == .damaged else { throw error } }
        }
      } catch { guard error.code == .damaged else { throw error } }
    }
  }

  /// Continues without the unreadable parts; their bytes are set aside.
  ///
  /// - Throws: `damaged` when more is lost than was reported, `io`, `full`, `poisoned`.
  func leaveOutLosses() throws(StoreError) {
    let parts = losses.all
    guard !lost.isEmpty || !parts.isEmpty else { return }
    try fold(isForced: true, leavingOut: parts)
    if !parts.isEmpty { isIndexDamaged = false }
  }

  /// Checks that the reserve exists with all its bytes: a power cut may have left only its name.
  func findReserve() {
    let file = try? files.open(path("reserve"), .read)
    hasReserve = ((try? file?.length()) ?? 0) >= max(1, options.reserve)
    hasUsedReserve = !hasReserve && options.reserve > 0 && manifest.active != 0
  }

  /// Creates the reserve for a full disk; continues without it when that fails for another reason
  /// than a full disk.
  func setReserve() {
    guard !hasReserve, options.reserve > 0 else { return }
    let path = path("reserve")
    do throws(FileFailure) {
      try files.open(path, .create)?.allocate(options.reserve)
      hasReserve = true
      hasUsedReserve = false
    } catch {
      try? files.remove(path)
      if !error.meansFull { hasUsedReserve = false }
    }
  }

  /// Removes the reserve, which frees its bytes.
  ///
  /// - Returns: whether there were any.
  func releaseReserve() -> Bool {
    guard hasReserve else { return false }
    try? files.remove(path("reserve"))
    hasReserve = false
    hasUsedReserve = true
    return true
  }

  /// Counts the files that are neither segments nor tables.
  func countOthers(manifest count: Int) {
    let bytes = count + (hasReserve ? options.reserve : 0)
    published.state.withLock { $0.otherBytes = bytes }
  }

  /// Makes everything durable and truncates files at closing; the engine must not be used
  /// afterwards.
  ///
  /// - Throws: `io`, `poisoned`.
  func close() throws(StoreError) {
    if let poison { throw poison }
    endOutputs { _ in true }
    try harden()
    // Damage that was not acknowledged stays where the next opening finds it.
    if lost.isEmpty {
      do throws(StoreError) {
        try fold(usesReserve: false)
      } catch {
        // Folding is not necessary: the next opening replays the journal.
        guard error.code == .full || error.code == .damaged else { throw error }
      }
    }
    if let active, active.capacity > active.position {
      try? active.file.truncate(active.position)
    }
  }
}
