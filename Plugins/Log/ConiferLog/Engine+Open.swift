@_spi(Stores) import ConiferKeyValue
import ConiferStorage
import Synchronization

extension Engine {
  /// Opens the store in a directory, making it when there is none.
  ///
  /// - Throws: `foreign`, `newerFormat`, `damaged`, `denied`, `full`, `io`.
  static func open(
    _ directory: String, _ options: LogOptions, _ files: any LogFileSystem
  ) throws(StoreError) -> Engine {
    let names: [String]
    do throws(FileFailure) {
      names = try files.names(in: directory)
    } catch { throw error.error("list", directory) }
    guard names.contains("manifest") else {
      if let name = names.first(where: { FileName($0) != nil }) {
        throw StoreError.damagedFile(
          directory + "/manifest", "it is missing, and \(name) is there")
      }
      return try make(directory, options, files)
    }
    let path = directory + "/manifest"
    let file = try files.existing(path, .read)
    let bytes = try file.contents(path, at: 0, count: try file.size(path))
    let engine = Engine(directory, options, files, try Manifest(bytes, path))
    // A killed process may have left the manifest's name unsynced: after a power cut the earlier
    // manifest would be there again. If syncing it fails, reading still works, as after any failed
    // sync.
    do throws(FileFailure) {
      try files.syncDirectory(directory)
    } catch { _ = engine.syncFailed(error, directory) }
    try engine.load(Set(names))
    engine.countOthers(manifest: bytes.count)
    return engine
  }

  /// A new store has only a manifest, so it comes before any file that it may list.
  private static func make(
    _ directory: String, _ options: LogOptions, _ files: any LogFileSystem
  ) throws(StoreError) -> Engine {
    var random = SystemRandomNumberGenerator()
    let id = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
    let manifest = Manifest(store: id)
    let engine = Engine(directory, options, files, manifest)
    try engine.write(manifest)
    engine.countOthers(manifest: manifest.bytes.count)
    return engine
  }

  private func load(_ names: Set<String>) throws(StoreError) {
    let listed =
      manifest.segments.map { FileName(number: $0.number, kind: .segment).description }
      + manifest.tables.map { FileName(number: $0.number, kind: .table).description }
    if let missing = listed.first(where: { !names.contains($0) }) {
      throw StoreError.damagedFile(path(missing), "it is missing")
    }
    let snapshot = try Snapshot(manifest, in: directory, handles, cache, losses)
    for name in names {
      if let found = FileName(name) { nextNumber = max(nextNumber, found.number &+ 1) }
    }
    published.state.withLock { $0.snapshot = snapshot }
    if manifest.active != 0 { try replay() }
    // The previous manifest may list them.
    if poison == nil { sweep(names.subtracting(listed)) }
    findReserve()
  }

  /// Replays the journal behind the manifest's place in it.
  private func replay() throws(StoreError) {
    guard let segment = snapshot.segments[manifest.active] else {
      throw StoreError.damagedFile(path("manifest"), "its active segment is not listed")
    }
    let path = segment.path
    let file = try files.existing(path, .write)
    try FileHeader.check(
      file, path, .segment, store: manifest.store, number: segment.number)
    let length = try file.size(path)
    let start = manifest.position
    guard length >= start, start >= FileHeader.size else {
      throw StoreError.damagedFile(path, "it was cut")
    }
    var found = JournalReader(
      try file.contents(path, at: start, count: length - start), base: start,
      store: manifest.store, segment: segment.number, sequence: sequence, previous: previous)
    let frames = found.frames
    // Releases the bytes before the tail grows.
    (sequence, previous, lost) = (found.sequence, found.previous, found.lost)
    let end = found.end
    found = JournalReader(
      [], base: start, store: manifest.store, segment: segment.number, sequence: 0, previous: 0)
    active = Active(
      segment: segment, file: file, capacity: length, position: end, synced: start, written: end,
      isDirty: end > start)
    segment.length = end
    segment.allocated = length
    for frame in frames { try published.replay(frame, segment) }
  }

  /// Removes leftovers of earlier processes: files of this store that are not listed, and files
  /// without a complete header. Files that cannot be removed or read are left.
  private func sweep(_ names: Set<String>) {
    for name in names {
      guard let found = FileName(name), let file = try? files.open(path(name), .read),
        let head = try? file.bytes(at: 0, count: FileHeader.size)
      else { continue }
      let isUnfinished =
        found.number >= manifest.nextNumber && !head.contains { $0 != 0 }
      let header = try? FileHeader(head, name)
      let isOurs =
        header?.store == manifest.store && header?.number == found.number
        && header?.kind == found.kind
      if isUnfinished || isOurs { try? files.remove(path(name)) }
    }
  }
}

extension Snapshot {
  /// The files that a manifest lists, with nothing of the journal behind it.
  ///
  /// - Throws: `damaged` (one is missing, cut, or not what it should be), `foreign`, `newerFormat`, `denied`, `io`.
  init(
    _ manifest: Manifest, in directory: String, _ handles: OpenSegments, _ cache: BlockCache,
    _ losses: Losses
  ) throws(StoreError) {
    self.init()
    func path(_ number: UInt64, _ kind: FileHeader.Kind) -> String {
      "\(directory)/\(FileName(number: number, kind: kind))"
    }
    for entry in manifest.segments {
      segments[entry.number] = Segment(
        entry.number, entry.kind, length: entry.length, live: entry.live,
        path(entry.number, .segment), store: manifest.store, handles)
    }
    for entry in manifest.tables {
      let path = path(entry.number, .table)
      let file = try handles.files.existing(path, .read)
      try FileHeader.check(file, path, .table, store: manifest.store, number: entry.number)
      guard try file.size(path) >= entry.length else {
        throw StoreError.damagedFile(path, "it was cut")
      }
      tables.append(Table(entry, path, file, cache, losses))
    }
  }

  /// The stored keys of a range that are present.
  ///
  /// - Throws: `damaged`, `io`.
  func keys(from: Bytes, to: Bytes) throws(StoreError) -> [Bytes] {
    guard bytesPrecede(from, to) else { return [] }
    var found: [Bytes] = []
    var cursor = MergedCursor(self, ascends: true)
    try cursor.seek(from)
    while !cursor.isAtEnd {
      let isInside = cursor.current { (key, slot) -> Bool in
        guard to.withUnsafeBytes({ compareBytes(key, $0) < 0 }) else { return false }
        if case .gone = slot { return true }
        found.append(Bytes(key))
        return true
      }
      guard isInside == true else { break }
      try cursor.next()
    }
    return found
  }
}
